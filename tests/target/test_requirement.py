"""One requirement, as twenty people write it."""

from __future__ import annotations

import pytest

from mpslint.target.requirement import holds_on_a_mac, requirement

LINES = {
    "torch==2.3.1": ("torch", "==2.3.1"),
    "  torch == 2.3.1  # for CUDA 12": ("torch", "== 2.3.1"),
    "Torch>=2,<2.5": ("torch", ">=2,<2.5"),
    "torch (>=2.0)": ("torch", ">=2.0"),
    "transformers[torch,sentencepiece]==4.30.2": ("transformers", "==4.30.2"),
    "pytorch_lightning~=2.1": ("lightning", "~=2.1"),
    "sentence_transformers<3": ("sentence-transformers", "<3"),
    "torch==2.3.1 --hash=sha256:abc --hash=sha256:def": ("torch", "==2.3.1"),
    "torch==2.3.1+cu121": ("torch", "==2.3.1+cu121"),
    'torch==2.3.1 ; python_version >= "3.8"': ("torch", "==2.3.1"),
    'torch==2.2.2; sys_platform == "darwin" and platform_machine == "x86_64"': None,
    'torch==2.2.2; sys_platform == "linux"': None,
    "torch==2.2.2; platform_system != 'Windows'": ("torch", "==2.2.2"),
    "torch @ https://download.pytorch.org/whl/cu118/torch-2.0.1%2Bcu118-cp310-cp310-linux_x86_64.whl": ("torch", "==2.0.1+cu118"),
    "https://download.pytorch.org/whl/cu118/torch-2.0.1-cp310-cp310-linux_x86_64.whl": ("torch", "==2.0.1"),
    "git+https://github.com/huggingface/transformers.git@v4.49.0": ("transformers", "==4.49.0"),
    "-e git+https://github.com/huggingface/transformers@v4.38.1#egg=transformers": ("transformers", "==4.38.1"),
    "transformers @ git+https://github.com/huggingface/transformers@main": ("transformers", ""),
    "peft": ("peft", ""),
    "numpy==1.26": None,
    "-r other.txt": None,
    "--index-url https://download.pytorch.org/whl/cu118": None,
    "# torch==1.0": None,
    "torch=>2": None,
    "": None,
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str) -> None:
    """Extras, markers, hashes, comments, addresses, tags, and names in any spelling."""
    found = requirement(line, "requirements.txt")

    assert ((found.name, found.spec) if found is not None else None) == LINES[line]


SHA = "65b8975c5fb65e6c08726f228877ba6b6601f2ba"
UNSLOTH = "https://github.com/unslothai/unsloth"
COMMITS = {
    f"unsloth @ git+{UNSLOTH}.git@{SHA}": SHA[:7],
    f"unsloth[colab-new] @ git+{UNSLOTH}@{SHA[:7]}": SHA[:7],
    f"git+{UNSLOTH}.git@{SHA}": SHA[:7],
    f"git+{UNSLOTH}@{SHA}#egg=unsloth": SHA[:7],
    f"-e git+{UNSLOTH}.git@{SHA[:10]}#egg=unsloth": SHA[:7],
    f"git+ssh://git@github.com/unslothai/unsloth.git@{SHA}": SHA[:7],
    f"unsloth @ {UNSLOTH}/archive/{SHA}.zip": SHA[:7],
    f"{UNSLOTH}/archive/{SHA}.tar.gz": SHA[:7],
    f'unsloth @ git+{UNSLOTH}.git@{SHA} ; sys_platform == "darwin"': SHA[:7],
    f"unsloth @ git+{UNSLOTH}.git": "",
    f"unsloth @ git+{UNSLOTH}.git@main": "",
    f"unsloth @ git+{UNSLOTH}.git@v2025.3.18": "",
    f"unsloth @ git+{UNSLOTH}.git@feedface-branch": "",
    f"unsloth @ https://example.com/{SHA}/unsloth-2025.3.18-py3-none-any.whl": "",
    "unsloth==2025.3.18 --hash=sha256:65b8975c5fb65e6c08726f228877ba6b6601f2ba": "",
}


@pytest.mark.parametrize("line", COMMITS)
def test_commits(line: str) -> None:
    """A commit has no version number; a tag and a wheel have, and a branch is the newest state."""
    found = requirement(line, "requirements.txt")

    assert found is not None
    assert (found.name, found.commit) == ("unsloth", COMMITS[line])


MARKERS = {
    "": True,
    "sys_platform == 'darwin'": True,
    "platform_machine == 'aarch64'": False,
    "sys_platform == 'linux' or platform_machine == 'arm64'": True,
    "python_version < '3.9'": False,
    "extra == 'gpu'": True,
    "not a marker": True,
}


@pytest.mark.parametrize("marker", MARKERS)
def test_markers(marker: str) -> None:
    """They are asked about Apple silicon; what can't be read doesn't leave a requirement out."""
    assert holds_on_a_mac(marker) is MARKERS[marker]
    assert holds_on_a_mac("python_version < '3.9'", "3.8")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"unsloth @ git+{UNSLOTH}.git", True),
        (f"unsloth[colab-new]@git+{UNSLOTH}.git", True),
        (f"unsloth @ git+{UNSLOTH}@main", True),
        ("unsloth @ git+ssh://git@github.com/unslothai/unsloth.git#egg=unsloth", True),
        (f"unsloth @ git+{UNSLOTH}.git@feature", False),
        (f"unsloth @ git+{UNSLOTH}.git@{SHA}", False),
        (f"unsloth @ git+{UNSLOTH}.git@2025.3.18", False),
        ("unsloth", False),
    ],
)
def test_the_newest_state_of_a_repository(line: str, expected: bool) -> None:
    """An address without a tag, a commit or a branch of its own stands for what comes after the last release."""
    found = requirement(line, "requirements.txt")

    assert found is not None
    assert found.is_branch == expected
