"""A fix calls torch by the name that the file binds, and imports it where nothing does."""

from __future__ import annotations

import pytest

from mpslint.api import fix

BY = {
    "import torch\n": ("torch", "import torch\n"),
    "import torch as t\n": ("t", "import torch as t\n"),
    "import torch.nn\n": ("torch", "import torch.nn\n"),
    "from lib import torch\n": ("torch", "from lib import torch\n"),
}


@pytest.mark.parametrize("imports", BY)
def test_the_fix_uses_the_files_own_name(imports: str) -> None:
    """An alias is used; no second import is written."""
    name, kept = BY[imports]
    fixed = fix(f'{imports}device = "cuda" if {name}.cuda.is_available() else "cpu"\nmodel.to(device)(x.to(device))\n').text
    assert fixed.startswith(kept)
    if imports != "from lib import torch\n":
        assert f'else "mps" if {name}.backends.mps.is_available() else "cpu"' in fixed
    assert fixed.count("import") == 1


@pytest.mark.parametrize(
    ("imports", "question"),
    [
        ("from torch import cuda\n", "cuda.is_available()"),
        ("from torch.cuda import is_available\n", "is_available()"),
        ("import torch.nn as nn\nfrom torch import cuda\n", "cuda.is_available()"),
    ],
)
def test_torch_is_imported_where_only_its_parts_are(imports: str, question: str) -> None:
    """Without this the fixed file raises NameError on every machine without CUDA."""
    fixed = fix(f'{imports}device = "cuda" if {question} else "cpu"\nmodel.to(device)(x.to(device))\n').text
    assert "torch.backends.mps.is_available()" in fixed
    assert "import torch\n" in fixed.splitlines(keepends=True)


ARGUMENTS = "from transformers import Trainer, TrainingArguments\n"
RUN = """def main():
    args = TrainingArguments("out", fp16=True)
    Trainer(model, args, train_dataset=data).train()
"""


@pytest.mark.parametrize(
    "code",
    [
        'torch = "2.1"\n' + RUN,
        "torch: str = VERSIONS['torch']\n" + RUN,
        "class torch:\n    version = 1\n" + RUN,
        "def torch():\n    return 1\n" + RUN,
        "import numpy as torch\n" + RUN,
        "import torch\n" + RUN.replace("main()", "main(torch)"),
        "import torch\n" + RUN.replace("main()", "main(*, torch=None)"),
        "import torch\n" + RUN + "    import torch\n",
        "import torch\n" + RUN + "    import torch.nn\n    torch.nn.Linear\n",
        "import torch\n" + RUN + "    from lib import torch\n",
        "import torch\n" + RUN + "    for torch in range(3):\n        pass\n",
        "import torch\n" + RUN + "    with open('x') as torch:\n        pass\n",
        "import torch\n" + RUN + "    if (torch := 1):\n        pass\n",
        "import torch\n" + RUN + "def other(torch):\n    import torch\n",
    ],
)
def test_no_fix_is_made_where_the_name_means_something_else(code: str) -> None:
    """It would raise AttributeError, or UnboundLocalError where the function binds the name later."""
    code = f"{ARGUMENTS}{code}main()\n"

    assert fix(code, select=["MPS101"]).text == code


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n" + RUN,
        "torch = None\nimport torch\n" + RUN,
        "import torch\n" + RUN.replace("    args", "    import torch\n    args"),
        "import torch\n" + RUN + "def other():\n    torch = 1\n",
        "import torch\n" + RUN + "x = dict(torch='2.1')\nx.torch = 1\n",
    ],
)
def test_a_name_that_other_scopes_bind_is_still_the_module(code: str) -> None:
    """So is one that stands in where the import fails."""
    assert "fp16=not torch.backends.mps.is_available()" in fix(f"{ARGUMENTS}{code}main()\n", select=["MPS101"]).text


def test_an_alias_that_the_function_binds_anew_is_not_used() -> None:
    """The module is imported by its own name."""
    fixed = fix(f"{ARGUMENTS}import torch as t\n{RUN}    t = 1\nmain()\n", select=["MPS101"]).text
    assert fixed.startswith(f"import torch\n{ARGUMENTS}")
    assert "fp16=not torch.backends.mps.is_available()" in fixed


VARIABLE = 'os.environ["CUDA_VISIBLE_DEVICES"] = "5"\n'
ON_CUDA = 'model = torch.nn.Linear(2, 2).to("cuda:0")\nx = torch.ones(2).to("cuda:0")\n'


@pytest.mark.parametrize(
    "code",
    [
        "import os\nimport torch\n" + VARIABLE + ON_CUDA,
        "import os\n\n" + VARIABLE + "import torch\n" + ON_CUDA,
        "import torch\nimport os\nif os.name:\n    " + VARIABLE + "\nprint(1)\n" + ON_CUDA,
        "import os\n" + VARIABLE + "from torch import nn\n" + ON_CUDA.replace("torch.nn", "nn").replace("x = torch.ones(2)", "x = nn.Linear(2, 2)"),
        "from torch import nn\nimport os\n" + VARIABLE + ON_CUDA.replace("torch.nn", "nn").replace("x = torch.ones(2)", "x = nn.Linear(2, 2)"),
        "from torch import nn\nimport os\n" + VARIABLE + 'model = nn.Linear(2, 2).to("cuda:0")\n',
        "import os\nimport torch\n\n\ndef main(gpu):\n    " + VARIABLE.replace('"5"', "gpu") + '    model = torch.nn.Linear(2, 2).to("cuda:0")\n'
        '    x = torch.ones(2).to("cuda:0")\n    model(x)\n\n\nmain("3")\n',
    ],
)  # fmt: skip
def test_cuda_is_not_asked_for_before_its_variables_are_set(code: str) -> None:
    """torch reads them once: a question above the line would leave the run on all of the GPUs."""
    fixed = fix(code).text
    assert "mps" in fixed
    assert fixed.index("CUDA_VISIBLE_DEVICES") < fixed.index("is_available")
    compile(fixed, "fixed", "exec")
    assert fixed.index("import torch\n") < fixed.index("torch.cuda.is_available")


def test_torch_is_not_imported_before_its_variables_are_set() -> None:
    """The import reads PYTORCH_ENABLE_MPS_FALLBACK."""
    code = 'import os\nos.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"\nfrom transformers import AutoModel\n'
    fixed = fix(code + 'model = AutoModel.from_pretrained("gpt2").to("cuda")\n').text
    assert fixed.index("PYTORCH_ENABLE") < fixed.index("import torch\n") < fixed.index("import AutoModel")
