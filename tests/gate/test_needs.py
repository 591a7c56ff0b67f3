"""A rule is asked only about files that hold all that it needs, and it finds nothing in any other."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from mpslint import engine
from mpslint.core import knowledge
from mpslint.gate import needs
from mpslint.gate.needs import compiled_words, needed, possible
from mpslint.gate.ways import ways_of
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Rule
from mpslint.session.examples import target_of
from mpslint.settings.derived import DERIVED_FROM, DERIVED_FROM_ROLES
from mpslint.settings.dialects import load_dialects
from mpslint.settings.vocabulary import load_vocabulary
from mpslint.source.document import Document
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests import ROOT, some_of

RULES = load_rules()
BAD = [(rule, number, one) for rule in RULES for number, one in enumerate(rule.examples) if one.bad and not one.known_miss]


def asked(text: str, name: str = "train.py") -> set[str]:
    """Return the ids of the rules that a file of this name and text has all words for."""
    return {rule.id for rule in needed(RULES, read(name, text.encode()), default_target())}


def test_a_rule_is_not_asked_where_the_argument_that_it_is_about_is_not_named() -> None:
    """`TrainingArguments` alone says nothing of fp16, whose default is off."""
    plain = "from transformers import TrainingArguments\nargs = TrainingArguments('out')\n"

    assert "MPS101" not in asked(plain)
    assert "MPS602" in asked(plain)  # pinned memory is on by default
    assert "MPS101" in asked(plain.replace("'out'", "'out', fp16=True"))


def test_what_is_only_said_about_a_program_does_not_count() -> None:
    """Comments and documentation speak of devices that the code never uses."""
    code = "import torch\n\n\ndef load(model):\n    {}\n    return model.{}\n"

    assert "MPS501" not in asked(code.format('"""Use it so:\n\n    model.to("cuda")\n    """', "eval()  # or .cuda()"))
    assert "MPS501" in asked(code.format('"""Load it."""', 'to("cuda")'))


def test_a_group_that_a_name_meets_needs_no_exact_piece() -> None:
    """A Trainer trains, whether or not a method of that name is called too."""
    assert "MPS403" in asked("trainer = Trainer(model)\nmodel.eval()\n")


def test_a_word_that_a_fix_writes_counts_as_one_of_the_file() -> None:
    """What a rule says of the GPU is asked where another rule's fix selects it."""
    document = read("train.py", b'import torch\nx = torch.zeros(3, dtype=torch.float64).to("cpu")\n')

    plain, fixed = possible(RULES, document), possible(RULES, document, frozenset({"mps"}))
    assert {rule.id for rule in plain} < {rule.id for rule in fixed}
    assert "MPS116" in {rule.id for rule in fixed} - {rule.id for rule in plain}


@pytest.mark.parametrize(
    ("rule", "lines", "is_asked"),
    [
        ("MPS504", ["import torch", "assert torch.cuda.is_available()"], True),
        ("MPS504", ["from torch import cuda as c", "assert c.is_available()"], True),
        ("MPS504", ["from torch.cuda import is_available", "assert is_available()"], True),
        ("MPS504", ["import torch", "c = torch.cuda", "assert c.is_available()"], True),
        ("MPS504", ["import torch", "assert torch.version.cuda"], True),
        ("MPS504", ["import torch", "assert tpu.is_available() and x.device.type != 'cuda'"], False),
        ("MPS505", ["import torch", "torch. \\", "    cuda.get_device_name()"], True),
        ("MPS505", ["from torch import (", "    nn,", "    cuda as c,", ")", "c.get_device_name()"], True),
        ("MPS505", ["import torch", "getattr(torch.cuda, 'x')", "c.get_device_name()"], True),
        ("MPS505", ["import torch", "gpu.get_device_name()", "model.cuda()"], False),
        ("MPS110", ["from transformers import Trainer", "Trainer(model.half())"], True),
        ("MPS110", ["from transformers import Trainer", "Trainer(model.to(torch.bfloat16))"], False),
        ("MPS605", ["from transformers import Trainer", "Trainer(model)", "data.map(f, num_proc=4)"], True),
        ("MPS605", ["from transformers import Trainer", "Trainer(model)", "data.map(f, num_procs=num_processes)"], False),
        ("MPS714", ["import os, torch", "os.environ['HF_HOME'] = 'x'"], False),
        ("MPS714", ["import torch", "!export HF_HOME=x"], True),
    ],
)
def test_a_part_of_a_module_counts_where_the_module_may_be_meant(rule: str, lines: list[str], is_asked: bool) -> None:
    """Other devices have an `is_available` too; a shell line is none of Python."""
    assert (rule in asked("\n".join([*lines, ""]))) is is_asked


@pytest.mark.parametrize(
    ("function", "is_asked"),
    [
        ("def place(x, device):", True),
        ("def place(x, *, device='cpu'):", True),
        ("def place(x=f((1, (2,))), *rest, device: str):", True),
        ("async def place[T](\n    x: T,  # what (is moved\n    /,\n    device,\n):", True),
        ("place = lambda x, device: x.to(device); compiled = lambda x:", True),
        ("def place(x, device='cpu'):", False),
        ("def place(x, y=None): x.to(x.device); f(device=y)\n\n\ndef other(x):", False),
    ],
)
def test_a_parameter_is_taken_for_the_gpu_only_where_nothing_gives_it_a_value(function: str, is_asked: bool) -> None:
    """`x.device` names no device, and neither does an argument of that name."""
    assert ("MPS521" in asked(f"import torch\n\n\n{function}\n    torch.compile(x)\n")) is is_asked


@pytest.mark.parametrize(
    ("batch", "is_asked"),
    [
        ("x = GPT()(tokens.view(B, T))", True),
        ("x = GPT()(tokens.reshape(int(B), T))", True),
        ("rows = torch.randint(len(data) - T, (B,))\nx = GPT()(torch.stack([data[i : i + T] for i in rows]))", True),
        ("x = Net()(tokens.view(B, T))", False),
        ("x = GPT()(tokens.view(B, -1))", False),
        ("x = GPT()(tokens.view(B, T, 8))", False),
        ("rows = torch.randint(len(data), (B,))\nx = GPT()(data[rows])", False),
    ],
)
def test_batches_that_a_program_makes_itself_are_known_by_their_shape_and_model(batch: str, is_asked: bool) -> None:
    """Nearly every model reshapes something; tokens are two numbers, or cut out of a long text, and go into a model with attention."""
    assert ("MPS201" in asked(f"import torch\n\n\nB, T = 64, 1024\n{batch}.backward()\n")) is is_asked


@pytest.mark.parametrize("name", ["train.py", "train.sh"])
def test_words_of_commands_count_only_where_there_are_commands(name: str) -> None:
    """A launcher that a Python file talks of launches nothing."""
    assert ("MPS552" in asked("accelerate launch --num_processes 4 --multi_gpu train.py\n", name)) is (name == "train.sh")


@pytest.mark.parametrize(("rule", "number", "example"), BAD, ids=[f"{rule.id}-{number}" for rule, number, _ in BAD])
def test_every_example_holds_what_its_rule_needs(rule: Rule, number: int, example: object) -> None:
    """No rule is kept from what it finds."""
    text, name = example.bad, example.file  # type: ignore[attr-defined]

    assert rule in needed(RULES, read(name, text.encode()), target_of(example))  # type: ignore[arg-type]


def variants(text: str) -> list[str]:
    """Return a text without the lines that hold a word, for every word of it."""
    words = sorted(set(re.findall(r"\w{3,}", text)))
    return ["".join(line for line in text.splitlines(keepends=True) if word not in line) for word in words]


def everything(rules: tuple[Rule, ...], document: Document, versions: object) -> tuple[Rule, ...]:
    """Stand in for `needed`: every rule is asked."""
    return rules


def test_a_rule_that_is_not_asked_would_have_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking every rule about the examples, cut short in every way, the library and our own files finds no more."""
    others = sorted([*Path(sysconfig.get_paths()["stdlib"]).glob("*.py"), *(ROOT / "mpslint").rglob("*.py")])
    files = [*some_of(others, 4), *(ROOT / "samples").glob("*.*")]
    texts = {
        (one.file, text)
        for _, _, one in BAD
        for text in [one.bad, *([] if one.file.endswith(".ipynb") else some_of(variants(one.bad), 16))]
    }
    texts |= {(path.name, text) for path in files if len(text := path.read_text(encoding="utf-8", errors="replace")) < 20_000}
    documents = [read(name, text.encode("utf-8", "surrogatepass")) for name, text in sorted(texts)]
    target = default_target()

    def found() -> list[list[tuple[str, int]]]:
        return [[(one.rule, one.span.start) for one in engine.check(document, target, RULES).findings] for document in documents]

    sparing = found()
    assert sum(map(bool, sparing)) > 300
    monkeypatch.setattr(engine, "needed", everything)

    for document, few, all_of_them in zip(documents, sparing, found(), strict=True):
        assert few == all_of_them, (document.path, document.text)


def test_every_rule_needs_something() -> None:
    """None has to be asked about every file, and none can never be asked."""
    for rule in RULES:
        for way in ways_of(rule, RULES):
            assert way, rule.id
            assert all(way), rule.id


def test_what_follows_from_settings_is_told_from_what_is_written() -> None:
    """A setting that no dialect reads, and that a rule is about, says from what it follows."""
    tables = [pattern.table for dialect in load_dialects().all for pattern in dialect.calls]
    written = {spelling.setting for table in tables for spellings in table.arguments.values() for spelling in spellings}

    assert set(DERIVED_FROM) | set(DERIVED_FROM_ROLES) <= set(load_vocabulary())
    assert {name for bases in DERIVED_FROM.values() for name in bases} <= written | {"padding.collator"}


def test_the_needs_of_a_wheel_are_those_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled when a wheel is built asks the same rules."""
    documents = [read(one.file, one.bad.encode()) for _, _, one in BAD[::5]]
    target = default_target()
    derived = [needed(RULES, document, target) for document in documents]
    compiled = compiled_words(RULES)
    needs._needs.cache_clear()
    monkeypatch.setattr("mpslint.gate.gate.shipped_words", lambda: compiled)

    assert [needed(RULES, document, target) for document in documents] == derived
    needs._needs.cache_clear()
    assert knowledge.shipped_words() == {}
