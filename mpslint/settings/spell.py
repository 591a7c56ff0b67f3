"""Settings -> edits: write a canonical setting in the dialect, and at the place, in which the file writes it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from mpslint.config.yaml_edit import scalar_text
from mpslint.core.finding import Edit, Span
from mpslint.core.grouped import grouped
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Call, Known, is_weak
from mpslint.program.call_text import with_argument, without_argument
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting, load_vocabulary
from mpslint.settings.spelling import (
    UNSPELLABLE,
    Addition,
    ConfigAddition,
    FlagAddition,
    Removal,
    WrittenSetting,
    both,
    render,
    silent_value,
    spelled,
    spelling_of,
    ways_to_say,
)
from mpslint.settings.translate import bound_arguments


def write_setting(evidence: Evidence, plan: TrainingPlan, call: Call | None, name: str, value: Any) -> WrittenSetting | None:
    """Return the edits after which a run has a setting; None when the dialect has no way to say it there.

    The setting of `call` is meant where it has one, else that of the run. It is changed where it is written; where nobody wrote it,
    it is added to the call that takes it.
    """
    own = [setting for setting in plan.settings.get(name, ()) if call is not None and setting.call is call]
    setting = own[-1] if own else plan.get(name)
    if plan.configs and (setting is None or setting.mapping is not None):
        from mpslint.settings.spell_config import write_config_setting

        return write_config_setting(evidence, plan, setting, name, value)
    if plan.commands and (setting is None or setting.command is not None):
        from mpslint.settings.spell_shell import write_flag

        return write_flag(evidence, plan, setting, name, value)
    if setting is None:
        return None
    if not setting.is_written or setting.span is None:
        return _add(evidence, setting, name, value)
    text = _spelled(setting, value, evidence)
    if text is not None:
        return _replace_value(evidence, setting, text)
    silent = silent_value(setting)
    replaced = _replace_value(evidence, setting, repr(silent)) if silent is not UNSPELLABLE else None
    return both(replaced, _add(evidence, setting, name, value, besides=setting.spelling))


def _spelled(setting: Setting, value: Any, evidence: Evidence) -> str | None:
    """Return the Python text by which this setting's own argument says a value, or None when it cannot."""
    if setting.entry is None:
        return None
    python = spelled(setting, value, evidence.target.versions)
    if python is UNSPELLABLE:
        return None
    if setting.entry.reads == "dtype":
        old = setting.origin or setting.value_span
        is_text = old is not None and evidence.document.text[old.start : old.start + 1] in ("'", '"')
        return render(python, evidence.text) if is_text else f"torch.{python}"
    if setting.style == "config" and setting.value_span is not None:
        span, text = setting.value_span, evidence.document.text
        return scalar_text(str(python), text[span.start : span.end], text, evidence.document.path.endswith(".json"))
    return render(python, evidence.text) if setting.style == "python" else str(python)


def _replace_value(evidence: Evidence, setting: Setting, text: str) -> WrittenSetting | None:
    """Write a new value: at the constant when it is there for this setting only, else at the argument."""
    span = setting.value_span
    if span is None:
        return None
    if text == "False" and _asks_the_machine(evidence, setting):
        asks = platform_data("cuda")["devices"]["asks_for_mps"]
        text = f"not {asks} and {_operand(evidence.document.text[span.start : span.end])}"
        return WrittenSetting((Edit(span, text),), f"{setting.spelling}={text}")
    narrower = _other_on_a_mac(evidence, setting, text)
    if narrower is not None:
        return narrower
    where = ""
    if setting.origin is not None and setting.origin != span and _is_only_for(evidence, setting):
        span = setting.origin
        where = f" in {evidence.document.place(span.start).words}"
    old = evidence.document.text[span.start : span.end]
    if old == text:
        return None
    if setting.style == "python":
        if ":=" in old:
            return None  # it has to be bound on a Mac, too
        text = for_mac_only(setting.name, old, text, evidence)
    return WrittenSetting((Edit(span, text),), f"{setting.spelling}={text}{where}")


def for_mac_only(name: str, old: str, new: str, evidence: Evidence) -> str:
    """Return Python that is the new value of a setting on a Mac and the old one on every other machine, where that makes a difference."""
    template = load_vocabulary()[name].elsewhere
    if not template or evidence.target.is_only_machine:
        return new
    whole = template.format(old=alternative(old), new=new)
    test = whole.removeprefix("False if ").removesuffix(" else True")
    return f"not {test}" if (old, new) == ("True", "False") else whole


def value_on_mac(node: ast.expr) -> Any:
    """Return the constant that Python which a fix wrote is on a Mac, where all that it asks for is there but CUDA. Raises ValueError for
    another."""
    if isinstance(node, ast.IfExp):
        return value_on_mac(node.body if value_on_mac(node.test) else node.orelse)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not value_on_mac(node.operand)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return all(value_on_mac(one) for one in node.values)
    if isinstance(node, (ast.Call, ast.Compare)):
        return ast.unparse(node) != platform_data("cuda")["devices"]["asks_for_cuda"]
    return ast.literal_eval(node)


def alternative(text: str) -> str:
    """Return an expression as it may stand before `if` or after `else`: in parentheses where it binds less tightly."""
    try:
        tree = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return text
    return f"({text})" if isinstance(tree, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or "\n" in text else text


def _other_on_a_mac(evidence: Evidence, setting: Setting, text: str) -> WrittenSetting | None:
    """Return the edit after which `x if test else text` is text on a Mac, and what it was on every other machine."""
    node = setting.argument.node if setting.argument is not None else None
    if not isinstance(node, ast.IfExp) or setting.value_span != evidence.span_of(node):
        return None
    if ast.dump(node.orelse) != ast.dump(ast.parse(text, mode="eval").body):
        return None
    asks = platform_data("cuda")["devices"]["asks_for_mps"]
    test = f"not {asks} and {_operand(evidence.text_of(node.test))}"
    return WrittenSetting((Edit(evidence.span_of(node.test), test),), f"{setting.spelling}=... if {test} else {text}")


def _asks_the_machine(evidence: Evidence, setting: Setting) -> bool:
    """Return whether a value is worked out (`not torch.cuda.is_bf16_supported()`), so that it may be another one where there is CUDA."""
    span = setting.origin or setting.value_span
    if span is None or setting.style != "python":
        return False
    try:
        tree = ast.parse(f"({evidence.document.text[span.start : span.end]})", mode="eval").body
    except SyntaxError:
        return False
    return isinstance(tree, (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp))


def _operand(text: str) -> str:
    """Return an expression as it may stand after `and`: in parentheses where it binds less tightly."""
    tree = ast.parse(f"({text})", mode="eval").body
    loose = isinstance(tree, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or (isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or))
    return f"({text})" if loose and not text.startswith("(") else text


def _is_only_for(evidence: Evidence, setting: Setting) -> bool:
    """Return whether the constant behind an argument is this setting and no other: read nowhere else, or an option for it all."""
    node = setting.argument.node if setting.argument is not None else None
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        name = node.slice.value
        return _times_read(name, evidence) <= 2 and _is_constant(evidence, setting.origin)
    is_option = is_weak(setting.value) and load_vocabulary()[setting.name].once
    return name is not None and (is_option or _times_read(name, evidence) == 1) and _is_constant(evidence, setting.origin)


def _times_read(name: str, evidence: Evidence) -> int:
    """Return how often a name, attribute or string key is read in the program."""
    nodes = (evidence.whole or evidence).parsed.by_word.get(name, ())
    return sum(isinstance(one, ast.Constant) or isinstance(getattr(one, "ctx", None), ast.Load) for one in nodes)


def _is_constant(evidence: Evidence, span: Span | None) -> bool:
    if span is None:
        return False
    try:
        ast.literal_eval(evidence.document.text[span.start : span.end].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _add(evidence: Evidence, setting: Setting, name: str, value: Any, besides: str = "") -> WrittenSetting | None:
    """Add an argument to the call that takes a setting."""
    call, pattern = setting.call, setting.pattern
    if call is None or pattern is None:
        return None
    ways = ways_to_say(pattern, call.names, name, value, evidence.target.versions)
    chosen = next((one for one in ways if one[0] != besides and "." not in one[0]), None)
    if chosen is None:
        return None
    parameter, spelling, python = chosen
    text = f"torch.{python}" if spelling.reads == "dtype" else render(python, evidence.text)
    existing = bound_arguments(call, pattern).get(parameter)
    if existing is not None:
        node = existing.node
        if node is None or not hasattr(node, "lineno"):
            return None
        if is_weak(existing.value) and isinstance(existing.value, Known) and existing.value.value == python:
            return WrittenSetting((), "")  # as wanted here; elsewhere the command line may say otherwise
        return WrittenSetting((Edit(evidence.span_of(node), text),), f"{parameter}={text}")
    default = spelling_of(spelling, setting.constant) if not setting.is_written and setting.is_known else UNSPELLABLE
    if default is not UNSPELLABLE and spelling.reads != "dtype":
        text = for_mac_only(name, render(default, evidence.text), text, evidence)
    return WrittenSetting((), f"{parameter}={text}", (Addition(call, parameter, text, _neighbour(evidence, call, name)),))


def _neighbour(evidence: Evidence, call: Call, name: str) -> str:
    """Return the keyword argument of a call that a new one belongs beside: the last that says a setting of the same group (`batch.`)."""
    settings = evidence.settings_of_call.get(id(call), ())
    written = [s for s in settings if s.span is not None and s.spelling in call.keywords]
    group, beside = name.partition(".")[0], load_vocabulary()[name].beside
    near = [s for s in written if s.name == beside] or [s for s in written if s.name.partition(".")[0] == group]
    return max(near, key=lambda setting: setting.span or Span(0, 0)).spelling if near else ""


def add_argument(call: Call, name: str, text: str) -> WrittenSetting:
    """Return what gives a call another argument, in the style in which it is written."""
    return WrittenSetting((), f"{name}={text}", (Addition(call, name, text),))


def edits_of(evidence: Evidence, parts: Sequence[WrittenSetting]) -> list[Edit] | None:
    """Return the edits of some parts, with those by which calls get and lose arguments, files get keys and commands flags; None when one
    cannot be written."""
    edits, wanted = [edit for part in parts for edit in part.edits], [one for part in parts for one in part.added]
    keys = [addition for addition in wanted if isinstance(addition, ConfigAddition)]
    if keys:
        from mpslint.settings.spell_config import config_additions

        added = config_additions(evidence, keys)
        return None if added is None else [*edits, *added]
    flags = [addition for addition in wanted if isinstance(addition, FlagAddition)]
    if flags:
        from mpslint.settings.spell_shell import flag_additions

        return [*edits, *flag_additions(evidence, flags)]
    return _with_arguments(evidence, edits, [addition for addition in wanted if isinstance(addition, (Addition, Removal))])


def _with_arguments(evidence: Evidence, edits: Sequence[Edit], wanted: Sequence[Addition | Removal]) -> list[Edit] | None:
    """Return edits with one of each call that gets or loses arguments; where it loses some, other edits inside it become part of that."""
    left = list(edits)
    for mine in grouped((id(one.call), one) for one in wanted).values():
        call = mine[0].call
        removed = sorted((one.index for one in mine if isinstance(one, Removal)), reverse=True)
        span, old = evidence.span_of(call.node), evidence.text_of(call.node)
        inner = [edit for edit in left if removed and edit.span in span]
        for edit in sorted(inner, key=lambda edit: edit.span.start, reverse=True):
            old = f"{old[: edit.span.start - span.start]}{edit.text}{old[edit.span.end - span.start :]}"
        new: str | None = old
        for index in removed:
            new = without_argument(new, index) if new is not None else None
        for one in mine:
            if isinstance(one, Addition) and new is not None:
                new = with_argument(new, one.name, one.text, one.after) if not call.is_parsed else None
        if new is None or new == old:
            return None
        left = [edit for edit in left if edit not in inner] + [narrowed(span, evidence.text_of(call.node), new)]
    return left


def remove_argument(evidence: Evidence, call: Call, node: ast.AST) -> WrittenSetting | None:
    """Return what takes an argument away from a call, its comma and its line included; None where the call doesn't have it."""
    arguments: list[ast.AST] = sorted([*call.node.args, *call.node.keywords], key=lambda a: (a.lineno, a.col_offset))  # type: ignore[attr-defined]
    removed = " ".join(evidence.text_of(node).split())
    return WrittenSetting((), f"without {removed}", (Removal(call, arguments.index(node)),)) if node in arguments else None


def narrowed(span: Span, old: str, new: str) -> Edit:
    """Return the smallest edit that turns one text into another."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return Edit(Span(span.start + start, span.end - end), new[start : len(new) - end])
