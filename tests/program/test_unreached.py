"""Lines that a Mac certainly doesn't run."""

from __future__ import annotations

import json

import pytest

from mpslint.program.unreached import read, walked

SKIPPED = [
    "import torch\nif torch.cuda.is_available():\n    run()\n",
    "import torch as t\nif not t.backends.mps.is_available():\n    run()\n",
    "import sys\nif sys.platform == 'linux':\n    run()\n",
    "import sys\nif sys.platform in ('linux', 'win32'):\n    run()\n",
    "import sys\nif sys.platform.startswith('linux'):\n    run()\n",
    "from platform import system\nif system() == 'Linux' or system() == 'Windows':\n    run()\n",
    "import os\nif os.uname().sysname == 'Linux':\n    run()\n",
    "import sys\nIN_COLAB = 'google.colab' in sys.modules\nif IN_COLAB:\n    run()\n",
    "if 'google.colab' in str(get_ipython()):\n    run()\n",
    "try:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False\nif IN_COLAB:\n    run()\n",
    "try:\n    from google.colab import drive\n    run()\nexcept ImportError:\n    pass\n",
    "import os\nif os.path.exists('/content'):\n    run()\n",
    "import shutil\nif shutil.which('nvidia-smi'):\n    run()\n",
    "import platform\nmatch platform.system():\n    case 'Darwin':\n        pass\n    case _:\n        run()\n",
    "import torch\nhas_gpu = torch.cuda.device_count() > 0\nif has_gpu and quick:\n    run()\n",
]
MAYBE = [
    "import os\nos.environ['COLAB_GPU'] = '1'\nif 'COLAB_GPU' in os.environ:\n    run()\n",
    "def f(n):\n    if n == 0:\n        run()\n    else:\n        f(n - 1)\nf(1)\n",
    "def a(n):\n    b(n)\ndef b(n):\n    if n:\n        a(0)\n    else:\n        run()\na(1)\n",
    "import sys\nif sys.platform == 'darwin':\n    run()\n",
    "if quick:\n    run()\n",
    "IN_COLAB = False\nIN_COLAB = ask()\nif IN_COLAB:\n    run()\n",
    "import sys\nfor IN_COLAB in (True, 'google.colab' in sys.modules):\n    if IN_COLAB:\n        run()\n",
    "def f(sys):\n    if sys.platform == 'linux':\n        run()\n",
    "import os\nif os.path.exists('/content2') or os.path.exists('data'):\n    run()\n",
    "import torch\nif torch.cuda.is_available() or quick:\n    run()\n",
    "try:\n    import torch\n    run()\nexcept ImportError:\n    pass\n",
    "import platform\nmatch platform.system():\n    case 'Linux':\n        pass\n    case _:\n        run()\n",
]


def line_of_run(text: str) -> int:
    """Return the number of the line that says `run()`."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "run()")


@pytest.mark.parametrize("text", SKIPPED)
def test_a_line_below_a_test_that_fails_on_a_mac_is_unreached(text: str) -> None:
    """The test is decided by what the Mac answers."""
    assert line_of_run(text) in walked(text, ())[0]


@pytest.mark.parametrize("text", MAYBE)
def test_a_line_that_may_run_is_not(text: str) -> None:
    """A test that something else decides leaves the line in."""
    assert line_of_run(text) not in walked(text, ())[0]


def test_a_notebook_keeps_the_lines_that_a_mac_may_run() -> None:
    """Below a test for Colab neither an install nor a launch counts."""
    source = "import sys\nif 'google.colab' in sys.modules:\n    !pip install torch==1.9.0\nelse:\n    !pip install torch==2.8.0\n!python train.py\n"
    data = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source}], "metadata": {}, "nbformat": 4})

    document = read("a.ipynb", data.encode())

    assert [snippet.text for snippet in document.snippets] == ["pip install torch==2.8.0", "python train.py"]
