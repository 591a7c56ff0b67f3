"""Scripts that have to be told their configuration file: the files near them that have the keys they ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.core.folders import forget_disk
from mpslint.project.loaded import first_mapping
from mpslint.project.supposed import config_flag
from mpslint.session.runs import check_paths
from mpslint.session.session import Options

SCRIPT = """\
import argparse
import torch
import yaml

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", required=True)
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()
    with open(args.config) as file:
        config = yaml.safe_load(file)
    model = torch.nn.Linear(2, 2).to(config["device"])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])

if __name__ == "__main__":
    main()
"""
CONFIG = "device: cuda\nlr: 0.1\n"


def found(folder: Path, **files: str) -> list[tuple[str, str]]:
    """Return the rule and the file of each finding in a folder with some files; `__` in a name stands for a slash, `_` for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    results = check_paths([str(folder)], Options(isolated=True))
    return [(one.rule, Path(result.path).name) for result in results for one in (result.checked.findings if result.checked else ())]


def test_a_file_with_the_keys_that_the_script_asks_for_is_read(tmp_path: Path) -> None:
    assert found(tmp_path, train_py=SCRIPT, configs__base_yaml=CONFIG) == [("MPS501", "base.yaml")]


def test_the_option_may_stand_in_an_imported_file(tmp_path: Path) -> None:
    options = (
        'import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument("-c", "--cfg", type=str, default=None, help="where")\n'
    )
    script = "import torch, yaml\nfrom options import parser\nargs = parser.parse_args()\nconfig = yaml.safe_load(open(args.cfg))\n"
    script += 'model = torch.nn.Linear(2, 2).to(config["device"])\nlr = config["lr"]\n'

    assert found(tmp_path, options_py=options, train_py=script, config_yaml=CONFIG) == [("MPS501", "config.yaml")]


def test_a_file_of_the_same_name_that_the_program_writes_is_another(tmp_path: Path) -> None:
    script = SCRIPT.replace("    optimizer =", "    open('runs/config.yaml', 'w')\n    open('config.yaml', 'w')\n    optimizer =")

    assert found(tmp_path, train_py=script, config_yaml=CONFIG) == [("MPS501", "config.yaml")]


def test_a_block_that_reads_a_file_which_is_there_does_not_end_in_its_handler(tmp_path: Path) -> None:
    careful = SCRIPT.replace(
        "    with open(args.config) as file:\n        config = yaml.safe_load(file)\n",
        "    config = {}\n    try:\n        config.update(yaml.safe_load(open(args.config)))\n    except OSError:\n        print('no file')\n",
    )

    assert found(tmp_path, train_py=careful, config_yaml=CONFIG) == [("MPS501", "config.yaml")]


@pytest.mark.parametrize(
    "config",
    [
        "device: cuda\nname: x\nservices: 3\nvolumes: 1\n",  # of another program
        "device: cuda\n",
        "- device: cuda\n- lr: 0.1\n",
        "device: cuda\nlr: [\n",
    ],
)
def test_other_files_are_left_alone(tmp_path: Path, config: str) -> None:
    assert found(tmp_path, train_py=SCRIPT, config_yaml=config) == []


def test_where_a_command_names_a_file_no_other_is_supposed(tmp_path: Path) -> None:
    files = {"train_py": SCRIPT, "run_sh": "python train.py --config configs/mac.yaml\n", "configs__mac_yaml": "device: mps\nlr: 0.1\n"}

    assert found(tmp_path, **files, configs__base_yaml=CONFIG) == []


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ('parser.add_argument("--config")', ("--config",)),
        ('parser.add_argument("-c", "--config_file", type=str, default=None)', ("--config_file",)),
        ('parser.add_argument("config", help="config file path")', ()),
        ('@click.option("--config-path", required=True)', ("--config-path",)),
        ("config = load_config(sys.argv[1])", ()),
        ('parser.add_argument("--config", default="configs/base.yaml")', None),
        ('parser.add_argument("--config", default=CONFIG)', None),
        ('parser.add_argument("--conf", type=float)', None),
        ('parser.add_argument("--config_name")', None),
        ('parser.add_argument("--model_config")', None),
        ('parser.add_argument("--confidence")', None),
    ],
)
def test_options_that_ask_for_a_configuration_file(text: str, flag: tuple[str, ...] | None) -> None:
    assert config_flag(text) == flag


def test_what_links_out_of_the_project_is_not_supposed(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    (outside / "more").mkdir(parents=True)
    for path in (outside / "a.yaml", outside / "more" / "b.yaml"):
        path.write_text(CONFIG)
    (project / "configs").mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    (project / "configs" / "a.yaml").symlink_to(outside / "a.yaml")
    (project / "conf_more").symlink_to(outside / "more")
    (project / "configs" / "itself").symlink_to(project / "configs")

    assert found(project, train_py=SCRIPT) == []
    (project / "configs" / "own.yml").write_text(CONFIG)
    (project / "configs" / "linked.yaml").symlink_to(project / "configs" / "own.yml")
    forget_disk()
    assert {rule for rule, _ in found(project, train_py=SCRIPT)} == {"MPS501"}


def test_a_file_that_its_aliases_make_huge_is_no_configuration(tmp_path: Path) -> None:
    """Ten lines are ten billion values: whoever reads each of them never ends."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    text = "\n".join([*lines, "device: *a9", "lr: 0.1", ""])

    assert first_mapping(text, "a.yaml") is None
    assert first_mapping("base: &base {lr: 0.1}\nfirst: *base\nsecond: *base\n", "a.yaml") is not None
    assert found(tmp_path, train_py=SCRIPT.replace('"--config", required=True', '"--config", default="a.yaml"'), a_yaml=text) == []


NAMED = """\
import argparse
import os
from pathlib import Path

import torch
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--experiment", "-e", type=str, required=True)
args = parser.parse_args()
name = args.experiment
with open(PATH) as file:
    cfg = yaml.safe_load(file)
torch.nn.Linear(2, 2).to(cfg["device"])
"""
PATHS = [
    'f"configs/{args.experiment}.yaml"',
    "f'./configs/{args.experiment}.yaml'",
    '"configs/" + args.experiment + ".yaml"',
    '"configs/{}.yaml".format(args.experiment)',
    'os.path.join("configs", f"{args.experiment}.yaml")',
    'Path("configs") / f"{args.experiment}.yaml"',
]


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_a_command_names_by_a_part_of_its_path_is_read(tmp_path: Path, path: str) -> None:
    files = {"configs__a_yaml": "device: cuda\n", "configs__b_yaml": "device: cuda\n", "run_sh": "python train.py -e b\n"}

    assert found(tmp_path, train_py=NAMED.replace("PATH", path), **files) == [("MPS501", "b.yaml")]


@pytest.mark.parametrize("path", [one for one in PATHS if "{}" not in one])
def test_a_script_that_has_to_be_told_such_a_name_reads_the_first_ones(tmp_path: Path, path: str) -> None:
    files = {"configs__a_yaml": "device: cuda\n", "configs__b_yaml": "device: cuda\n"}

    assert found(tmp_path, train_py=NAMED.replace("PATH", path), **files) == [("MPS501", "a.yaml"), ("MPS501", "b.yaml")]


@pytest.mark.parametrize(
    ("old", "new"),
    [("required=True", "default='small'"), ("args.experiment}", "load()}"), ("configs/", "other/"), ("-experiment", "-kind")],
)
def test_otherwise_no_file_is_supposed(tmp_path: Path, old: str, new: str) -> None:
    script = NAMED.replace("PATH", PATHS[0]).replace(old, new)

    assert found(tmp_path, train_py=script, configs__a_yaml="device: cuda\n") == []


def test_of_a_collection_of_files_none_is_supposed(tmp_path: Path) -> None:
    files = {f"configs__{letter}_yaml": "device: cuda\n" for letter in "abcdefghijklm"}

    assert found(tmp_path, train_py=NAMED.replace("PATH", PATHS[0]), **files) == []
