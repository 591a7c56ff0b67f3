"""The tables as text: one line an operator, the names that are alike under one key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FIELDS = (
    "forms parameters rest called_with operands anywhere on_cpu alike scalars gives parts part_classes places each dtype "
    "dtype_argument place_argument makes keeps_place place graph zero shape copies in_place data layout attribute weights takes does "
    "registered inside with_arguments with_tensors"
).split()
LEFT_TO_THE_FIRST = ("gives", "parts", "dtype", "zero", "shape", "graph", "each", "dtype_argument", "place_argument", "in_place", "layout")
"""What a form that changes its first argument doesn't say: it gives that argument."""
FORMS = {
    "torch": {"name": "torch.{}"},
    "special": {"name": "torch.special.{}"},
    "functional": {"name": "torch.nn.functional.{}"},
    "method": {"name": "torch.Tensor.{}"},
    "in_place": {"name": "torch.Tensor.{}_", "adds": {"in_place": True}},
    "torch_in_place": {"name": "torch.{}_", "adds": {"in_place": True}},
    "attribute": {"name": "torch.Tensor.{}", "adds": {"attribute": True}},
    "nn": {"name": "torch.nn.{}"},
}
ORDER = {
    "torch.yaml": ("torch", "special", "functional", "method", "in_place", "torch_in_place"),
    "torch_functional.yaml": ("functional", "special"),
    "torch_methods.yaml": ("method", "in_place"),
    "nn.yaml": ("nn",),
}
"""The forms that each file holds, the first that a function has decides what its line says."""
HEADS = {
    "torch.yaml": "What the functions of torch make of their operands, and the methods and functions of other modules that do just that",
    "torch_functional.yaml": "What the functions of torch.nn.functional, torch.linalg, torch.fft and torch.special make of their operands",
    "torch_methods.yaml": "What the methods and attributes of tensors make of their operands, where no function of torch does just that",
    "nn.yaml": "What the classes of torch.nn hold and calls of their objects give, and what torch.nn.init and torch.nn.utils do",
}
MADE = "made by tools/make_signatures.py, which measures torch {version}. Change tools/signatures/ instead of this file."


def tables(signatures: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the entries of each file by key."""
    left = dict(signatures)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for file, forms in ORDER.items():
        entries = found.setdefault(file, {})
        lead = forms[0]
        for name in sorted(left):
            key = _key(name, lead)
            if key is None or name not in left:
                continue
            said = dict(left.pop(name))
            held = ["attribute" if said.pop("attribute", False) else lead]
            for form in forms[1:]:
                other = FORMS[form]["name"].replace("{}", key)
                if other in left and _agrees(said, left[other], form):
                    held.append(form)
                    del left[other]
            entries[key] = {**({"forms": held} if held != _default(file) else {}), **said}
        if file == "torch_functional.yaml":
            for name in sorted(left):
                if name.startswith(("torch.linalg.", "torch.fft.", "torch.special.")):
                    entries[name.removeprefix("torch.")] = {"forms": ["torch"], **left.pop(name)}
    assert not left, sorted(left)
    return found


def read(file: str, table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a file says by qualified name."""
    found = {}
    for key, said in (table["entries"] or {}).items():
        for form in said.get("forms", _default(file)):
            own = {field: value for field, value in said.items() if field != "forms"}
            if form.endswith("in_place"):
                own = {field: value for field, value in own.items() if field not in LEFT_TO_THE_FIRST}
            found[FORMS[form]["name"].replace("{}", key)] = {**own, **FORMS[form].get("adds", {})}
    return found


def _key(name: str, form: str) -> str | None:
    before, _, after = FORMS[form]["name"].partition("{}")
    key = name.removeprefix(before).removesuffix(after) if name.startswith(before) and name.endswith(after) else ""
    return key if key and ("." not in key or form == "nn") else None


def _default(file: str) -> list[str]:
    return ["torch", "method"] if file == "torch.yaml" else [ORDER[file][0]]


def _agrees(said: Mapping[str, Any], other: Mapping[str, Any], form: str) -> bool:
    if form.endswith("in_place"):
        if not other.get("in_place") or said.get("in_place"):
            return False
        said, other = ({key: value for key, value in one.items() if key not in LEFT_TO_THE_FIRST} for one in (said, other))
    return said == other


def text(file: str, entries: Mapping[str, Mapping[str, Any]], version: str) -> str:
    """Return the text of a file."""
    used = {form for one in entries.values() for form in one.get("forms", _default(file))}
    lines = [f"# {HEADS[file]}:", f"# {MADE.format(version=version)}", "forms:"]
    lines += [f"  {form}: {flow(FORMS[form])}" for form in FORMS if form in used]
    lines += [f"default_forms: {flow(_default(file))}", "entries:"]
    lines += [f"  {_scalar(key)}: {flow(_ordered(entries[key]))}" for key in sorted(entries)]
    return "\n".join(lines) + "\n"


def _ordered(said: Mapping[str, Any]) -> dict[str, Any]:
    unknown = said.keys() - set(FIELDS)
    assert not unknown, unknown
    return {field: said[field] for field in FIELDS if field in said}


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = text and text.replace("_", "").replace(".", "").replace(" ", "").isalnum() and text[0].isalpha()
    return text if plain and text.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n") else f'"{text}"'
