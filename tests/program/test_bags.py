"""Settings that a program reads from a file through a class or an object of its own keep the place in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

HEAD = "import json\nimport yaml\nfrom torch import nn\n\n\n"
WITH_DICT = (
    "class C({base}):\n    def __init__(self, path):\n        with open(path) as f:\n            {body}\n{more}\nhp = C('hp.json')\n"
)
OF_ENTRIES = "class C:\n    def __init__(self, {given}):\n{body}\nhp = C({call})\n"
NESTED = "        for k, v in {entries}.items():\n            if {test}:\n                v = C({made})\n            {write}\n{more}"
FORMS = {
    "dict": (WITH_DICT.format(base="dict", body="super().__init__(json.load(f))", more="    def __getattr__(self, k):\n        return self[k]"), "hp.device"),
    "dict, keywords": (WITH_DICT.format(base="dict", body="super(C, self).__init__(**json.load(f))", more="    __getattr__ = dict.__getitem__"), "hp['device']"),
    "dict, itself": ("class C(dict):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n        self.__dict__ = self\nhp = C(json.load(open('hp.json')))\n", "hp.device"),
    "dict, own constructor": ("class C(dict):\n    __getattr__ = dict.get\nhp = C(json.load(open('hp.json')))\n", "hp.device"),
    "__dict__": (WITH_DICT.format(base="", body="self.__dict__ = json.load(f)", more=""), "hp.device"),
    "__dict__, update": (WITH_DICT.format(base="", body="self.__dict__.update(json.load(f))", more=""), "hp.device"),
    "getattr": (WITH_DICT.format(base="", body="self.all = json.load(f)", more="    def __getattr__(self, k):\n        return self.all[k]"), "hp.device"),
    "getitem": (WITH_DICT.format(base="", body="self.all = json.load(f)", more="    def __getitem__(self, k):\n        return self.all[k]"), "hp['device']"),
    "get": (WITH_DICT.format(base="", body="self.all = json.load(f)", more="    def get(self, k, d=None):\n        return self.all.get(k, d)"), "hp.get('device')"),
    "setattr": (OF_ENTRIES.format(given="path", body="        for k, v in json.load(open(path)).items():\n            setattr(self, k, v)", call="'hp.json'"), "hp.device"),
    "setattr, keys": (OF_ENTRIES.format(given="d", body="        for k in d:\n            setattr(self, k, d[k])", call="json.load(open('hp.json'))"), "hp.device"),
    "setattr, nested": (OF_ENTRIES.format(given="d", body=NESTED.format(entries="d", test="isinstance(v, dict)", made="v", write="setattr(self, k, v)", more=""), call="yaml.safe_load(open('hp.yaml'))"), "hp.train.device"),
    "items, nested": (OF_ENTRIES.format(given="**d", body=NESTED.format(entries="d", test="type(v) == dict", made="**v", write="self[k] = v", more="    def __setitem__(self, k, v):\n        setattr(self, k, v)"), call="**yaml.safe_load(open('hp.yaml'))"), "hp.train.device"),
    "hook": ("from types import SimpleNamespace\nhp = json.load(open('hp.json'), object_hook=lambda d: SimpleNamespace(**d))\n", "hp.device"),
    "namespace": ("from types import SimpleNamespace\nhp = SimpleNamespace(**json.load(open('hp.json')))\n", "hp.device"),
    "classmethod": ("class C:\n    def __init__(self, device='cpu'):\n        self.device = device\n    @classmethod\n    def load(cls, path):\n        return cls(**json.load(open(path)))\nhp = C.load('hp.json')\n", "hp.device"),
    "path": ("from pathlib import Path\nhp = json.loads(Path('hp.json').read_text())\n", "hp['device']"),
    "easydict, update": ("from easydict import EasyDict\nhp = EasyDict()\nhp.update(yaml.safe_load(open('hp.yaml')))\n", "hp.train.device"),
    "box": ("from box import Box\nhp = Box.from_yaml(filename='hp.yaml')\n", "hp.train.device"),
    "munch": ("from munch import Munch\nhp = Munch.fromDict(yaml.safe_load(open('hp.yaml')))\n", "hp.train.device"),
    "yacs": ("from yacs.config import CfgNode as CN\nbase = CN()\nbase.train = CN()\nbase.train.device = 'cpu'\nhp = base.clone()\nhp.merge_from_file('hp.yaml')\n", "hp.train.device"),
    "argparse": ("import argparse\nparser = argparse.ArgumentParser()\nhp = parser.parse_args()\nfor k, v in json.load(open('hp.json')).items():\n    setattr(hp, k, v)\n", "hp.device"),
    "sections in one": ("hp = {}\nfor name, section in yaml.safe_load(open('hp.yaml')).items():\n    if not isinstance(section, dict):\n        hp[name] = section\n        continue\n    for k, v in section.items():\n        hp[k] = v\n", "hp['device']"),
    "sections in one, update": ("hp = {}\nfor section in yaml.safe_load(open('hp.yaml')).values():\n    hp.update(section)\n", "hp['device']"),
    "keys": ("hp, d = {}, json.load(open('hp.json'))\nfor k in d:\n    hp[k] = d[k]\n", "hp['device']"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "device"), FORMS.values(), ids=FORMS)
def test_a_setting_is_found_where_the_file_says_it(code: str, device: str, tmp_path: Path) -> None:
    """The finding is in the configuration file, and there is none where that names the Mac's GPU."""
    found = {}
    for said in ("cuda", "mps"):
        folder = tmp_path / said
        folder.mkdir()
        (folder / "hp.json").write_text(f'{{"device": "{said}"}}\n', encoding="utf-8")
        (folder / "hp.yaml").write_text(f"train:\n  device: {said}\n", encoding="utf-8")
        (folder / "train.py").write_text(f"{HEAD}{code}nn.Linear(2, 2).to({device})\n", encoding="utf-8")
        results = check_paths([str(folder)], Options(isolated=True))
        found[said] = [(Path(result.path).suffix, finding.rule) for result in results for finding in result.findings]
    assert [(suffix, rule) for suffix, rule in found["cuda"] if suffix in (".json", ".yaml") and rule == "MPS501"]
    assert not found["mps"]


def test_an_entry_that_another_file_may_change_is_no_certain_one(tmp_path: Path) -> None:
    """A bag that is updated by what is not known holds its values as defaults only."""
    code = "from easydict import EasyDict\nhp = EasyDict(device='cuda')\nhp.update(read())\nnn.Linear(2, 2).to(hp.device)\n"
    (tmp_path / "train.py").write_text(HEAD + code, encoding="utf-8")
    assert not [one for result in check_paths([str(tmp_path)], Options(isolated=True)) for one in result.findings if one.rule == "MPS501"]


KOHYA = """import argparse
import toml
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--config_file")
parser.add_argument("--device", default="cpu")
args = parser.parse_args()
path = args.config_file if args.config_file.endswith(".toml") else args.config_file + ".toml"
with open(path) as f:
    config = toml.load(f)
flat = {}
for name, section in config.items():
    for key, value in section.items():
        flat[key] = value
args = parser.parse_args(namespace=argparse.Namespace(**flat))
nn.Linear(2, 2).to(args.device)
"""


@pytest.mark.parametrize(("said", "rules"), [("cuda", ["MPS501"]), ("mps", [])])
def test_sections_of_a_toml_file_give_options_their_values(said: str, rules: list[str], tmp_path: Path) -> None:
    """As the training scripts for Stable Diffusion read theirs: the file's values are the parser's defaults."""
    (tmp_path / "lora.toml").write_text(f'[model]\nname = "a"\n\n[training]\ndevice = "{said}"\n', encoding="utf-8")
    (tmp_path / "run.sh").write_text("python train.py --config_file=lora.toml\n", encoding="utf-8")
    (tmp_path / "train.py").write_text(KOHYA, encoding="utf-8")
    found = [one.rule for result in check_paths([str(tmp_path)], Options(isolated=True)) for one in result.findings]
    assert found == rules


def test_a_loop_that_does_more_than_copy_is_walked_once(tmp_path: Path) -> None:
    """What it makes of one entry isn't taken for what it makes of the last."""
    code = "models = {}\nfor k, v in {'a': 'cuda', 'b': 'mps'}.items():\n    models[k] = nn.Linear(2, 2).to(v)\nhp = models\n"
    (tmp_path / "train.py").write_text(HEAD + code, encoding="utf-8")
    findings = [one for result in check_paths([str(tmp_path)], Options(isolated=True)) for one in result.findings]
    assert [one.rule for one in findings if one.rule == "MPS501"] == []
