"""Programs that set the words of their command line themselves, as notebooks do: `sys.argv = ["train.py", "--fp16"]`."""

from __future__ import annotations

import pytest

from mpslint.api import check, fix

PARSER = """\
import argparse, sys
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
{words}
args = parser.parse_args({given})
model = torch.nn.Linear(2, 2).to(args.device)
"""


CUDA = {"MPS501", "MPS502"}
"""The rules about a device that is "cuda", for certain or by default."""


def selects_cuda(text: str) -> bool:
    return any(one.rule in CUDA for one in check(text).findings)


def rules_of(words: str, given: str = "") -> list[str]:
    return [one.rule for one in check(PARSER.format(words=words, given=given)).findings]


@pytest.mark.parametrize(
    "words",
    [
        'sys.argv = ["train.py", "--device", "cuda"]',
        'sys.argv = ["train.py"]\nsys.argv += ["--device", "cuda"]',
        'sys.argv = [""]\nsys.argv.extend(["--device", "cuda"])',
        'sys.argv = [sys.argv[0], "--device=cuda"]',
        'sys.argv += ["--device", "cuda"]',
        'sys.argv.extend(["--device", "cuda"])',
        'sys.argv.append("--device=cuda")',
        'sys.argv[1:] = ["--device", "cuda"]',
        'sys.argv = ["train.py", "--device", "mps"]\nsys.argv[2] = "cuda"',
        'sys.argv = ["train.py", "--device", "mps"]\nsys.argv[1:] = ["--device=cuda"]',
    ],
)
def test_words_that_the_program_sets_are_read(words: str) -> None:
    assert rules_of(words) == ["MPS501"]


@pytest.mark.parametrize("words", ["", 'sys.argv = [""]', 'sys.argv = ["train.py", "--device", "mps"]', "sys.argv = words()"])
def test_without_such_words_the_default_holds(words: str) -> None:
    assert rules_of(words) == []


def test_a_default_that_nothing_overrides_is_certain() -> None:
    text = PARSER.replace('"cpu"', '"cuda"')
    certain = [text.format(words='sys.argv = [""]', given=""), text.format(words="", given="[]")]

    assert [[one.rule for one in check(one).findings] for one in certain] == [["MPS501"], ["MPS501"]]


def test_a_fix_leaves_the_words_alone() -> None:
    text = (
        "import sys\n"
        "from transformers import AutoModelForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments\n"
        'sys.argv = ["train.py", "--output_dir", "out", "--fp16"]\n'
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        'model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")\n'
        "Trainer(model, args).train()\n"
    )

    assert "MPS101" in [one.rule for one in check(text).findings]
    assert 'sys.argv = ["train.py", "--output_dir", "out", "--fp16"]\n' in fix(text).text


@pytest.mark.parametrize(
    "change",
    [
        "words.pop()",
        "words.pop(2)",
        "words.pop(-1)",
        "words.remove('cuda')",
        "del words[2]",
        "del words[1:]",
        "words[1:] = []",
        "words.clear()",
        "words.reverse()",
        "words.sort(key=len)",
        "for _ in range(2):\n    words.pop()",
        "words.pop(index())",
        "words.insert(2, 'mps')",
        "words[index():] = []",
    ],
)
def test_a_word_that_a_list_loses_is_not_read(change: str) -> None:
    """`words` begins with the device; what follows it in the list is no device."""
    text = "import torch\nwords = ['cpu', 'mps', 'cuda']\n" + change + "\nmodel = torch.nn.Linear(2, 2).to(words[2])\n"

    assert not check(text).findings


@pytest.mark.parametrize(
    ("change", "place"),
    [("words.insert(0, 'c')", 3), ("words.pop(0)", 1), ("words.reverse()", 0), ("del words[:2]", 0), ("words[:1] = []", 1)],
)
def test_a_word_that_moves_in_a_list_is_read_where_it_is(change: str, place: int) -> None:
    text = "import torch\nwords = ['cpu', 'mps', 'cuda']\n" + change + f"\nmodel = torch.nn.Linear(2, 2).to(words[{place}])\n"

    assert selects_cuda(text)


FIELDS = """\
import dataclasses
import torch
{imports}

@dataclasses.dataclass
class Options:
    device: str = "{default}"

{parse}
model = torch.nn.Linear(2, 2).to(options.device)
"""
MPS = '["--device", "mps"]'
GIVEN = {
    "import tyro": f"options = tyro.cli(Options, args={MPS})",
    "from jsonargparse import CLI": f"options = CLI(Options, args={MPS})",
    "import pyrallis": f"options = pyrallis.parse(Options, args={MPS})",
    "import draccus": f"options = draccus.parse(config_class=Options, args={MPS})",
    "from simple_parsing import parse": "options = parse(Options, args='--device mps')",
    "from transformers import HfArgumentParser": f"(options,) = HfArgumentParser(Options).parse_args_into_dataclasses({MPS})",
    "from trl import TrlParser": f"(options,) = TrlParser(Options).parse_args_into_dataclasses(args={MPS})",
    "import tyro as t": "options = t.cli(Options, default=Options(device='mps'))",
    "import simple_parsing as s": (
        "parser = s.ArgumentParser()\nparser.add_arguments(Options, dest='o', default=Options('mps'))\noptions = parser.parse_args().o"
    ),
}


@pytest.mark.parametrize("imports", GIVEN)
def test_words_and_defaults_that_a_parser_is_given_count_more_than_those_of_the_class(imports: str) -> None:
    parse = GIVEN[imports]
    silent = check(FIELDS.format(imports=imports, default="cuda", parse=parse))
    found = check(FIELDS.format(imports=imports, default="cpu", parse=parse.replace("mps", "cuda")))

    assert not silent.findings
    assert found.findings
    assert {one.rule for one in found.findings} <= CUDA


@pytest.mark.parametrize("parse", ["tyro.cli(Options)", "tyro.cli(Options, args=None)", "draccus.parse(config_class=Options)"])
def test_what_a_class_does_once_its_fields_are_filled_is_walked(parse: str) -> None:
    text = FIELDS.format(imports="import draccus, tyro", default="cuda", parse=f"options = {parse}")
    method = "    def __post_init__(self):\n        self.device = 'mps'\n"

    assert selects_cuda(text)
    assert check(text.replace('= "cuda"\n', '= "cuda"\n' + method)).findings == ()


def test_a_namespace_counts_more_than_the_default_of_an_option() -> None:
    text = PARSER.replace('"cpu"', '"cuda"').replace("argparse, sys", "argparse, sys\nfrom argparse import Namespace")

    assert check(text.format(words="", given="namespace=Namespace(device='mps')")).findings == ()
    assert selects_cuda(text.format(words="", given="namespace=Namespace(other='mps')"))


def test_known_words_are_read_beside_others() -> None:
    text = PARSER.replace('"cpu"', '"cuda"')

    assert check(text.format(words="", given="[*others(), '--device', 'mps']")).findings == ()


def test_a_switch_of_tap_that_is_on_goes_off() -> None:
    text = "import torch\nfrom tap import Tap\nclass Options(Tap):\n    gpu: bool = True\n"
    text += "options = Options().parse_args({})\nmodel = torch.nn.Linear(2, 2).to('cuda' if options.gpu else 'mps')\n"

    assert selects_cuda(text.format("[]"))
    assert check(text.format("['--gpu']")).findings == ()


@pytest.mark.parametrize(("required", "found"), [("", True), (", required=True", False), (", required=False", True)])
def test_a_required_flag_has_no_default(required: str, found: bool) -> None:
    text = f"import torch\nfrom absl import app, flags\nF = flags.DEFINE_string('device', 'cuda', 'Which.'{required})\n"
    text += "def main(_):\n    model = torch.nn.Linear(2, 2).to(F.value)\napp.run(main)\n"

    assert selects_cuda(text) == found
