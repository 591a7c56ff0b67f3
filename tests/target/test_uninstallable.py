"""What pip can't install on a Mac of a project's requirements."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.session.session import Options, check_file
from mpslint.session.targeting import base_target
from mpslint.session.view import view
from mpslint.source.files import FoundFile
from mpslint.source.reader import read
from mpslint.target.requirement import Uninstallable

FROZEN = "numpy\nnvidia_nccl_cu12==2.20.5\ntriton==3.0.0 ; sys_platform == 'linux'\ntorch==2.4.0\n"


def test_a_line_without_a_build_is_named(tmp_path: Path) -> None:
    """The line is named with its place, whatever its spelling; one that is limited to Linux is not."""
    (tmp_path / "requirements.txt").write_text(FROZEN, encoding="utf-8")

    wanted = "nvidia_nccl_cu12==2.20.5"
    found = base_target(str(tmp_path / "train.py")).uninstallable
    assert found == (Uninstallable(wanted, path=str(tmp_path / "requirements.txt"), line=2, text=wanted),)


def test_a_file_for_a_mac_serves_instead(tmp_path: Path) -> None:
    """A project that has a lock file, or requirements for a Mac, is not asked about those of other machines."""
    (tmp_path / "requirements.txt").write_text(FROZEN, encoding="utf-8")
    (tmp_path / "requirements_mac.txt").write_text("torch\n", encoding="utf-8")

    assert base_target(str(tmp_path / "train.py")).uninstallable == ()


WHEEL = "https://download.pytorch.org/whl/cu118/torch-2.0.1%2Bcu118-cp310-cp310-linux_x86_64.whl"
INDEX = '[[tool.poetry.source]]\nname = "gpu"\nurl = "https://download.pytorch.org/whl/cu118"\n'
UV = '[project]\nname = "x"\ndependencies = ["torch"]\n[[tool.uv.index]]\nname = "gpu"\nurl = "https://download.pytorch.org/whl/cu124"\n[tool.uv.sources]\n'
CONDA = "dependencies:\n  - python=3.10\n"


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = {{url = "{WHEEL}"}}\n', True),
        ("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = {{url = "{WHEEL}", platform = "linux"}}\n', False),
        ("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = {{url = "{WHEEL}", markers = "sys_platform == \'linux\'"}}\n', False),
        ("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = {{version = "^2", source = "gpu"}}\n{INDEX}', True),
        ("pyproject.toml", f'[tool.poetry.dependencies]\ntorch = "^2"\n{INDEX}', False),
        ("pyproject.toml", f'[project]\ndependencies = ["torch @ {WHEEL}"]\n', True),
        ("pyproject.toml", '[project]\ndependencies = ["torch==2.0.1", "triton; sys_platform == \'linux\'"]\n', False),
        ("pyproject.toml", f'{UV}torch = {{index = "gpu"}}\n', True),
        ("pyproject.toml", f'{UV}torch = [{{index = "gpu", marker = "sys_platform == \'linux\'"}}]\n', False),
        ("pyproject.toml", f'{UV}torch = [{{index = "cpu", extra = "cpu"}}, {{index = "gpu", extra = "gpu"}}]\n', False),
        ("pyproject.toml", "[tool.poetry.dependencies\n", False),
        ("environment.yml", f"{CONDA}  - pytorch-cuda=11.8\n", True),
        ("environment.yml", f"{CONDA}  - nvidia::cudatoolkit=11.3\n", True),
        ("environment.yml", f"{CONDA}  - ld_impl_linux-64=2.40=h55db66e_0\n", True),
        ("environment.yml", f"{CONDA}  - pip:\n    - nvidia-cublas-cu12==12.1.3.1\n", True),
        ("environment.yml", f"{CONDA}  - pytorch\n  - pip:\n    - transformers\n", False),
        ("environment.yml", "dependencies: 3\n", False),
        ("environment.yml", f"{CONDA}  - pytorch==1.7.0\n", True),
        ("environment.yml", f"{CONDA}  - pytorch::pytorch=1.6\n", True),
        ("environment.yml", f"{CONDA}  - pytorch=1.13\n", False),
    ],
)
def test_addresses_indexes_and_conda_packages_are_read(name: str, text: str, is_found: bool, tmp_path: Path) -> None:
    """What names a build for another system can't be installed, unless only for that system."""
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert bool(base_target(str(tmp_path / "train.py")).uninstallable) is is_found


def test_a_conda_environment_beside_other_requirements_is_for_linux(tmp_path: Path) -> None:
    """A Mac installs from the other file."""
    (tmp_path / "environment.yml").write_text(f"{CONDA}  - pytorch-cuda=11.8\n", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch\n", encoding="utf-8")
    assert base_target(str(tmp_path / "train.py")).uninstallable == ()


def test_a_lock_file_is_made_of_the_same_addresses(tmp_path: Path) -> None:
    """A lock can't name another wheel than pyproject.toml does; a requirements file beside it is for other machines."""
    (tmp_path / "poetry.lock").write_text("", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(f'[tool.poetry.dependencies]\ntorch = {{url = "{WHEEL}"}}\n', encoding="utf-8")
    (tmp_path / "requirements.txt").write_text(FROZEN, encoding="utf-8")
    assert len(base_target(str(tmp_path / "train.py")).uninstallable) == 1


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"requirements-cpu.txt": "torch==1.6.0+cpu\n"}, True),
        ({"requirements-cpu.txt": "torch==2.1.0+cpu\n", "requirements-gpu.txt": "torch==2.1.0+cu118\n"}, True),
        ({"requirements-cpu.txt": "torch==2.1.0+cpu\n", "requirements-gpu.txt": "torch>=2.1\n"}, False),
        ({"requirements.txt": "torch==2.1.0+cu118\n", "requirements-cpu.txt": "torch==2.1.0+cpu\n"}, True),
        ({"requirements.txt": "torch==2.1.0+cu118\n", "requirements-cpu.txt": "torch==2.1.0\n"}, False),
        ({"env/requirements.txt": "torch==1.4.0\n"}, True),
        ({"env/requirements.txt": "torch==1.4.0\n", "setup.py": "setup(install_requires=['torch'])"}, False),
        ({"env/requirements.txt": "torch==1.4.0\n", "setup.py": "setup(install_requires=read('reqs'))"}, False),
        ({"env/requirements.txt": "torch==1.4.0\n", "setup.py": "setup(name='x', py_modules=['x'])"}, True),
        ({"environment.yml": f"{CONDA}  - cudatoolkit=11.3\n", "setup.py": "setup(name='x', install_requires=[])"}, True),
        ({"environment.yml": f"{CONDA}  - cudatoolkit=11.3\n", "setup.cfg": "[metadata]\nname = x\n"}, True),
        ({"environment.yml": f"{CONDA}  - cudatoolkit=11.3\n", "setup.cfg": "[options]\ninstall_requires =\n    torch\n"}, False),
        ({"environment.yml": f"{CONDA}  - cudatoolkit=11.3\n", "pyproject.toml": "[tool.black]\nline-length = 100\n"}, True),
        ({"environment.yml": f"{CONDA}  - cudatoolkit=11.3\n", "pyproject.toml": "[project]\ndependencies = ['torch']\n"}, False),
        ({"requirements-colab.txt": "bitsandbytes==0.45.5\n", "pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, True),
        ({"docker/requirements.txt": "torch==1.4.0\n"}, False),
        ({"env/requirements.txt": "torch==1.4.0\n", "env/install.sh": "pip install torch==2.1.0\n"}, False),
        ({"requirements-colab.txt": "bitsandbytes==0.45.5\n"}, True),
        ({"colab-requirements.txt": "bitsandbytes==0.45.5\n", "setup_env.sh": "pip install torch==2.6.0\n"}, False),
        (
            {
                "requirements-colab.txt": "bitsandbytes==0.45.5\n",
                "setup_env.sh": "pip install torch==2.6.0\npip install -r requirements-colab.txt\n",
            },
            True,
        ),
        ({"env/requirements.txt": "torch==1.4.0\n", "README.md": "conda create -n x python=3.8\n"}, True),
        ({"envs/environment_gpu.yml": f"name: x\n{CONDA}  - pytorch=1.13.1=py3.9_cuda11.6_cudnn8.3.2_0\n"}, True),
        (
            {"environment_gpu.yml": f"name: x\n{CONDA}  - cudatoolkit=11.3\n", "environment_cpu.yml": f"name: x\n{CONDA}  - pytorch\n"},
            False,
        ),
        ({"gpu.yaml": f"name: x\n{CONDA}  - cudatoolkit=11.3\n"}, True),
        ({"gpu.yaml": f"name: x\n{CONDA}  - cudatoolkit=11.3\n", "env.yaml": "task: CartPole\nname: x\n"}, True),
        ({"gpu.yaml": "name: x\ndependencies:\n  - name: cudatoolkit=11.3\n    version: 1\n"}, False),
        ({"gpu.yaml": "dependencies:\n  - cudatoolkit=11.3\n"}, False),
        ({"gpu.yaml": "name: x\nsetup:\n  dependencies:\n    - cudatoolkit=11.3\n"}, False),
    ],
    ids=str,
)
def test_every_way_to_install_fails(files: dict[str, str], is_found: bool, tmp_path: Path) -> None:
    """A file of another name or in a folder counts if no other one can be installed; what is in an image is no matter of the Mac."""
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = base_target(str(tmp_path / "train.py")).uninstallable
    assert bool(found) is is_found
    assert all(any(one.path.endswith(name) for name in files) for one in found)


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"code/conda_environment.yml": f"name: x\n{CONDA}  - cudatoolkit=8.0=3\n"}, True),
        ({"code/env_gpu.yaml": f"channels: [pytorch]\n{CONDA}  - cudatoolkit=8.0=3\n"}, True),
        ({"code/gpu.yml": "# of the cluster\nname: x\ndependencies:\n\n# first\n- cudatoolkit=8.0=3\n"}, True),
        ({"code/env.yaml": "name: CartPole\ndependencies: none\n"}, False),
        ({"code/gpu.yml": f"name: x\n{CONDA}  - cudatoolkit=8.0=3\n", "requirements.txt": "torch==2.4.0\n"}, False),
        ({"code/gpu.yml": f"name: x\n{CONDA}  - cudatoolkit=8.0=3\n", "code/mac.yml": f"name: x\n{CONDA}  - pytorch\n"}, False),
    ],
    ids=str,
)
def test_a_conda_environment_beside_the_scripts_is_theirs(files: dict[str, str], is_found: bool, tmp_path: Path) -> None:
    """Whatever its name; what other YAML lists is no environment, and the project around it may be installed instead."""
    for folder in (".git", "code/lib"):
        (tmp_path / folder).mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for script in ("code/train.py", "code/lib/model.py"):
        assert bool(base_target(str(tmp_path / script)).uninstallable) is is_found


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("environment.yml", f"{CONDA}  - cudatoolkit=11.3\n", "a line of conda's own can't be limited to Linux"),
        (
            "environment.yml",
            f"{CONDA}  - cudatoolkit=11.3\n  - pip:\n    - triton==3.0.0\n",
            "a line of conda's own can't be limited to Linux",
        ),
        ("environment.yml", f"{CONDA}  - pip:\n    - triton==3.0.0\n", "sys_platform"),
        ("requirements.txt", FROZEN, 'nvidia_nccl_cu12==2.20.5; sys_platform == "linux"'),
        ("requirements.txt", "torch==1.13.1+cu117\n", "Write `torch==1.13.1` for torch==1.13.1+cu117"),
        ("requirements.txt", "triton==3.0.0\ntorchvision===0.16.0+cpu\n", "Write `torchvision==0.16.0`"),
        ("requirements.txt", "torch==1.8.1+cu111\n", "Raise a pin"),
        ("requirements.txt", "torchvision==0.11.1+cu113\n", "Raise torchvision==0.11.1+cu113 to `torchvision>=0.11.2`"),
        ("requirements.txt", f"torch @ {WHEEL}\n", "Write `torch==2.0.1`"),
        ("requirements.txt", "https://example.com/mmcv-1.7.0-cp310-cp310-linux_x86_64.whl\n", "in place of the address of mmcv-1.7.0"),
        ("requirements.txt", "--index-url https://download.pytorch.org/whl/cu121\ntorch\n", "Remove the line --index-url"),
        ("requirements.txt", "scipy==1.6.2\n", "its source needs a Fortran compiler"),
        (
            "pyproject.toml",
            f'[tool.poetry.dependencies]\ntorch = {{version = "^2", source = "gpu"}}\n{INDEX}',
            'torch = [{source = "...", markers =',
        ),
        ("pyproject.toml", f'{UV}torch = {{index = "gpu"}}\n', 'torch = [{..., marker = "sys_platform == '),
        ("pyproject.toml", '[project]\ndependencies = ["torch==2.1.0+cu118"]\n', "Write `torch==2.1.0`"),
    ],
)
def test_the_advice_is_for_what_installs_it(name: str, text: str, said: str, tmp_path: Path) -> None:
    """Markers are pip's: conda can't read them; and each table and option has a way of its own."""
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    path = str(tmp_path / "train.py")
    rules = [rule for rule in load_rules() if rule.id == "MPS720"]
    (finding,) = check(read(path, b"import torch\n"), base_target(path), rules).findings
    assert finding.fix is not None
    assert said in finding.fix.summary


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        ({"README.md": "conda create -n x python=3.7\n", "requirements.txt": "torch==2.1.0\n"}, False),
        ({"README.md": "conda create -n x python=3.7\n", "requirements.txt": "torch>=2.1,<2.2\n"}, False),
        ({"x.yaml": "name: x\ndependencies: [python=3.7]\n", "requirements.txt": "torch==2.1.0\n"}, False),
        ({"x.yaml": "name: x\ndependencies: [python=3.7, pytorch=2.1.0]\n"}, True),
        ({".python-version": "3.7.9\n", "requirements.txt": "torch==2.1.0\n"}, True),
        ({"Pipfile": '[packages]\ntransformers = "*"\n[requires]\npython_version = "3.7"\n'}, False),
        ({"Pipfile": '[packages]\ntorch = "*"\n[requires]\npython_version = "3.7"\n'}, False),
        ({"Pipfile": '[packages]\ntorch = "==2.1.0"\n[requires]\npython_version = "3.7"\n'}, True),
    ],
    ids=str,
)
def test_a_python_of_another_way_to_install_says_nothing(files: dict[str, str], is_found: bool, tmp_path: Path) -> None:
    """A conda environment or a README has the versions of its own."""
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = str(tmp_path / "train.py")
    rules = [rule for rule in load_rules() if rule.id == "MPS716"]
    assert bool(check(read(path, b"import torch\n"), base_target(path), rules).findings) is is_found


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", "# triton==3.0.0\ntorch==2.4.0\ntriton==3.0.0  # for the A100\n", 3),
        ("pyproject.toml", '[project]\nname = "x"\ndependencies = [\n  # "triton==3.0.0",\n  "torch==2.4.0",\n  "triton==3.0.0",\n]\n', 6),
        (
            "pyproject.toml",
            f'[tool.poetry]\nname = "torch"\n[tool.poetry.dependencies]\ntorch = {{version = "^2", source = "gpu"}}\n{INDEX}',
            4,
        ),
        ("pyproject.toml", f'[tool.poetry.dependencies.torch]\nversion = "^2"\nsource = "gpu"\n{INDEX}', 1),
        ("environment.yml", f"{CONDA}  - pytorch\n  - 'pytorch-cuda=11.8'\n", 4),
        ("environment.yml", f"{CONDA}  - pip:\n    - triton==3.0.0\n", 4),
    ],
)
def test_the_finding_stands_at_the_requirement(name: str, text: str, line: int, tmp_path: Path) -> None:
    """In its file, with its line, in whatever part of the project the script is."""
    for folder in (".git", "sub"):
        (tmp_path / folder).mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "sub" / "train.py").write_text("import torch\n", encoding="utf-8")

    result = check_file(FoundFile(str(tmp_path / "sub" / "train.py")), Options(isolated=True, select=("MPS720",)))
    (finding,) = view(result).findings

    assert (finding.place.path, finding.line) == (str(tmp_path / name), line)
    assert finding.source.strip() in text.splitlines()[line - 1]
    column, length = finding.mark
    assert finding.text == finding.source[column : column + length] == text.splitlines()[line - 1][finding.column - 1 :][:length]
