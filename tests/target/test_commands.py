"""Install commands in every place where people write them."""

from __future__ import annotations

import pytest

from mpslint.target.commands import asserted, commands, script_header

COMMANDS = {
    "pip install torch==2.1.2 tensorboard": {"torch": "==2.1.2"},
    "python -m pip install 'torch >= 2.1, < 2.4' -q > /dev/null": {"torch": ">=2.1,<2.4"},
    "pip install -U trl": {"trl": ""},
    "pip install -r requirements.txt -c constraints.txt": {},
    "pip install --index-url https://download.pytorch.org/whl/cu118 torch==2.1.0+cu118": {"torch": "==2.1.0+cu118"},
    "uv pip install --system transformers==4.44.2 && python train.py --torch==1": {"transformers": "==4.44.2"},
    'uv add "trl>=0.9,<0.12" peft': {"trl": ">=0.9,<0.12", "peft": ""},
    "conda install -y pytorch=2.1 torchvision -c pytorch": {"torch": "==2.1.*", "torchvision": ""},
    "mamba create -n env python=3.10 pytorch==2.2.2": {"torch": "==2.2.2"},
    "RUN apt-get update && pip install --no-cache-dir \\\n    torch==2.3.0 \\\n    # comment\n    transformers==4.40.0": {
        "torch": "==2.3.0",
        "transformers": "==4.40.0",
    },
    'subprocess.check_call([sys.executable, "-m", "pip", "install", "transformers==4.30.2", "-q"])': {"transformers": "==4.30.2"},
    'os.system("pip install torch==2.0.1")': {"torch": "==2.0.1"},
    "pip install transformers[torch]==4.35.0  # not torch==1.0": {"transformers": "==4.35.0"},
    "pip install git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3": {"transformers": "==4.49.0"},
    "RUN python3 -m pip install --upgrade pip uv==0.1.11 && \\\n    python3 -m uv pip install \\\n    torch==2.10.0 && pip install peft==0.18.0": {
        "torch": "==2.10.0",
        "peft": "==0.18.0",
    },
    "# pip install torch==1.0": {},
    "echo pip install torch==1.0": {},
    "python train.py --torch==2.1": {},
    "pip uninstall torch==2.0": {},
    "pip install torch==2.4.0 || pip install torch==1.9.0": {"torch": "==2.4.0"},
    '!pip install transformers=="4.40.0" "trl[peft]"==0.9.6 -q': {"transformers": "==4.40.0", "trl": "==0.9.6"},
    """os.system('pip install torch=="2.1.0" peft')""": {"torch": "==2.1.0", "peft": ""},
    """!pip install 'torch'>='2.1' 'transformers[torch]'""": {"torch": ">=2.1", "transformers": ""},
    'subprocess.run(["pip","install","torch==2.1","trl[peft]"])': {"torch": "==2.1", "trl": ""},
    """pip install "torch==2.4.0; sys_platform == 'linux'" peft==0.18.0""": {"peft": "==0.18.0"},
    """pip install 'torch==2.4.0; sys_platform == "darwin"' && pip install peft==0.18.0""": {"torch": "==2.4.0", "peft": "==0.18.0"},
    'os.system("pip install torch==2.0.1; pip install peft==0.18.0")': {"torch": "==2.0.1", "peft": "==0.18.0"},
}


@pytest.mark.parametrize("text", COMMANDS)
def test_commands(text: str) -> None:
    """pip, uv and conda, in shells, Dockerfiles and Python; comments and other commands say nothing."""
    assert {one.name: one.spec for one in commands(text, "cell 1") if one.name != "python"} == COMMANDS[text]


def test_an_upgrade_asks_for_the_newest() -> None:
    """`pip install -U trl` counts more than a pin elsewhere, `-U trl==0.9` is a pin."""
    found = {one.name: one.is_fresh for one in commands("pip install --upgrade trl torch==2.1", "cell 1")}

    assert found == {"trl": True, "torch": False}


def test_inline_script_metadata() -> None:
    """PEP 723, as uv run reads it."""
    text = '#!/usr/bin/env -S uv run\n# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#   "torch==2.6",\n# ]\n# ///\nimport torch\n'

    assert [(one.name, one.spec) for one in script_header(text, "x")] == [("python", ">=3.11"), ("torch", "==2.6")]
    assert list(script_header("# /// script\n# dependencies = [\n# ///\n", "x")) == []


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ('assert torch.__version__ == "1.13.1"\n', "==1.13.1"),
        ("assert torch.__version__.startswith('1.8'), 'install torch 1.8'\n", "==1.8.*"),
        ('require_version("torch==1.13.1", "pip install torch==1.13.1")\n', "==1.13.1"),
        ('pkg_resources.require("torch==1.13.1")\n', "==1.13.1"),
        ('if old:\n    assert torch.__version__ == "1.13.1"\n', ""),
        ('assert torch.__version__ >= "1.13.1"\n', ""),
        ('assert tool.__version__ == "1.13.1"\n', ""),
    ],
)
def test_asserts(text: str, spec: str) -> None:
    """A program that ends under any other version runs with this one."""
    assert [one.spec for one in asserted(text, "x")] == ([spec] if spec else [])
