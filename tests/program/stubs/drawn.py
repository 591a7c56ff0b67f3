"""Parsers and command lines, drawn: programs that give what a library makes of some words, for CPython and for the stub."""

from __future__ import annotations

import random

NAMES = ("rate", "batch-size", "device", "half", "epochs", "model_name", "seed", "workers")
WORDS = ("3", "0.5", "1e-4", "mps", "true", "False", "None", "-2", "07", "a=b", "yes")
KINDS = ("int", "float", "str", "kind", "None")
HEAD = "def kind(text):\n    return text.lower() in ('yes', 'true', '1')\n"


def argparse_program(seed: int) -> str:
    """Return a program that parses a drawn list of words with a drawn parser of argparse, into `result`."""
    draw = random.Random(seed)
    lines = ["import argparse", HEAD, "parser = argparse.ArgumentParser(allow_abbrev=True)"]
    flags: list[str] = []
    where = "parser"
    if draw.random() < 0.2:
        lines += ["group = parser.add_argument_group('more')"]
        where = draw.choice(("parser", "group"))
    for name in draw.sample(NAMES, draw.randint(1, 5)):
        line, long = _option(draw, name, where)
        lines.append(line)
        flags.append(long)
    if draw.random() < 0.3:
        lines.append(
            f"parser.add_argument('path', nargs={draw.choice(('None', repr('?'), repr('*'), '2'))}{draw.choice((', default=' + repr('here'), ', default=None', ''))})"
        )
    if draw.random() < 0.2:
        lines.append(f"parser.set_defaults({draw.choice(NAMES).replace('-', '_')}={_constant(draw)})")
    words = _words(draw, flags)
    call = f"parser.parse_args({words!r})" if draw.random() < 0.8 else f"parser.parse_known_args({words!r})[0]"
    return "\n".join([*lines, f"result = vars({call})", ""])


def _option(draw: random.Random, name: str, where: str) -> tuple[str, str]:
    parts = [repr(f"--{name}")]
    if draw.random() < 0.3:
        parts.insert(draw.randint(0, 1), repr(f"-{name[0]}"))
    way = draw.choice(("store", "store", "store", "store_true", "store_false", "store_const", "append", "count", "boolean"))
    if way == "boolean":
        parts.append("action=argparse.BooleanOptionalAction")
    elif way != "store":
        parts.append(f"action={way!r}")
    if way in ("store", "append"):
        if draw.random() < 0.7:
            parts.append(f"type={draw.choice(KINDS)}")
        if draw.random() < 0.3:
            parts.append(f"nargs={draw.choice((repr('?'), repr('*'), repr('+'), '2', '1'))}")
    if way == "store_const" or (way == "store" and "nargs='?'" in parts):
        parts.append(f"const={_constant(draw)}")
    if draw.random() < 0.6:
        parts.append(f"default={_constant(draw)}")
    if draw.random() < 0.1:
        parts.append(f"dest={draw.choice(NAMES).replace('-', '_')!r}")
    if draw.random() < 0.1 and way not in ("store_true", "store_false", "count"):
        parts.append("required=True")
    return f"{where}.add_argument({', '.join(parts)})", f"--{name}"


def _constant(draw: random.Random) -> str:
    return draw.choice(("None", "1", "0.5", "'mps'", "'3'", "True", "False", "[1, 2]", "'yes'"))


def _words(draw: random.Random, flags: list[str]) -> list[str]:
    found: list[str] = []
    for flag in draw.sample(flags, draw.randint(0, len(flags))):
        form = draw.random()
        flag = flag[: draw.randint(4, len(flag))] if form > 0.9 and len(flag) > 4 else flag
        flag = flag[1:3] if 0.8 < form <= 0.9 else f"--no-{flag[2:]}" if 0.75 < form <= 0.8 else flag
        if draw.random() < 0.3 and flag.startswith("--"):
            found.append(f"{flag}={draw.choice(WORDS)}")
        else:
            found += [flag, *draw.sample(WORDS, draw.choice((0, 1, 1, 1, 2)))]
    return found


FIELDS = (("int", "4"), ("float", "0.5"), ("str", "'mps'"), ("bool", "False"), ("bool", "True"), ("int", None), ("str", None))


def _fields(draw: random.Random, most: int = 4) -> list[tuple[str, str, str | None]]:
    """Return drawn names of fields with their types and defaults, those without a default first."""
    found = [(name.replace("-", "_"), *draw.choice(FIELDS)) for name in draw.sample(NAMES, draw.randint(1, most))]
    return sorted(found, key=lambda one: one[2] is not None)


def _flags(draw: random.Random, fields: list[tuple[str, str, str | None]], dash: str = "_", is_bare: bool = True) -> list[str]:
    """Return words that give some of the fields values that mostly fit."""
    found: list[str] = []
    for name, kind, default in draw.sample(fields, len(fields)):
        if default is not None and draw.random() < 0.4:
            continue
        flag = f"--{name.replace('_', dash)}"
        if kind == "bool":
            bare = [[flag], [f"--no{dash}{flag[2:]}"]] if is_bare else []
            found += draw.choice([*bare, [flag, draw.choice(("true", "False", "True"))], [f"{flag}={draw.choice(('true', 'False'))}"]])
        else:
            word = draw.choice({"int": ("3", "07", "-2"), "float": ("0.5", "1e-4", "3"), "str": ("mps", "3", "true", "None", "a b")}[kind])
            found += [f"{flag}={word}"] if draw.random() < 0.4 else [flag, word]
    return found


def _class(name: str, fields: list[tuple[str, str, str | None]], base: str = "") -> str:
    body = "".join(f"    {one}: {kind}{f' = {default}' if default is not None else ''}\n" for one, kind, default in fields)
    return f"{'' if base else '@dataclasses.dataclass'}\nclass {name}{f'({base})' if base else ''}:\n{body}"


def hf_program(seed: int) -> str:
    """Return a program that makes drawn dataclasses of drawn words by HfArgumentParser."""
    draw = random.Random(seed)
    fields = _fields(draw)
    words = _flags(draw, fields)
    return (
        f"import dataclasses\nfrom transformers import HfArgumentParser\n{_class('Options', fields)}"
        f"(made,) = HfArgumentParser(Options).parse_args_into_dataclasses(args={words!r})\nresult = vars(made)\n"
    )


def tap_program(seed: int) -> str:
    """Return a program that makes a drawn class of tap parse drawn words."""
    draw = random.Random(seed)
    fields = _fields(draw)
    read = ", ".join(f"{name}=args.{name}" for name, _, _ in fields)
    code = f"from tap import Tap\n{_class('Options', fields, 'Tap')}\nargs = Options().parse_args({_flags(draw, fields)!r})\n"
    return f"{code}result = dict({read})\n"


def _function(draw: random.Random, fields: list[tuple[str, str, str | None]]) -> str:
    given = ", ".join(f"{name}: {kind}{f' = {default}' if default is not None else ''}" for name, kind, default in fields)
    return f"result = {{}}\ndef main({given}):\n    result.update(dict({', '.join(f'{name}={name}' for name, _, _ in fields)}))\n"


def fire_program(seed: int) -> str:
    """Return a program whose drawn function fire calls with drawn words."""
    draw = random.Random(seed)
    fields = _fields(draw)
    return f"import fire\n{_function(draw, fields)}fire.Fire(main, command={_flags(draw, fields, draw.choice('_-'))!r})\n"


def tyro_program(seed: int) -> str:
    """Return a program whose drawn function or dataclass tyro gives drawn words."""
    draw = random.Random(seed)
    fields = _fields(draw)
    words = _flags(draw, fields, "-")
    if draw.random() < 0.5:
        return f"import tyro\n{_function(draw, fields)}tyro.cli(main, args={words!r})\n"
    return f"import dataclasses\nimport tyro\n{_class('Options', fields)}\nresult = vars(tyro.cli(Options, args={words!r}))\n"


def typer_program(seed: int) -> str:
    """Return a program whose drawn function typer calls with drawn words."""
    draw = random.Random(seed)
    fields = _fields(draw)
    words = _flags(draw, [one for one in fields if one[2] is not None], "-")
    free = [draw.choice(("3", "1")) for _, _, default in fields if default is None]
    code = f"import sys\nimport typer\n{_function(draw, fields)}sys.argv = {['x', *free, *words]!r}\n"
    return f"{code}try:\n    typer.run(main)\nexcept SystemExit:\n    pass\n"


def click_program(seed: int) -> str:
    """Return a program whose drawn function click calls with drawn words."""
    draw = random.Random(seed)
    fields = _fields(draw)
    lines = []
    for name, kind, default in fields:
        flag = f"--{name.replace('_', '-')}"
        if kind == "bool":
            lines.append(
                f"@click.option('{flag}/--no-{flag[2:]}', default={default})"
                if draw.random() < 0.5
                else f"@click.option({flag!r}, is_flag=True)"
            )
        else:
            more = (
                [f"type={draw.choice((kind, f'click.{kind.upper()}'))}".replace("STR", "STRING")]
                if draw.random() < 0.5 or default is None
                else []
            )
            more += [f"default={default}"] if default is not None else []
            lines.append(f"@click.option({', '.join([repr(flag), *more])})")
    words = []
    for name, kind, _ in fields:
        flag = f"--{name.replace('_', '-')}"
        if draw.random() < 0.6:
            words += (
                [flag]
                if kind == "bool"
                else [flag, draw.choice({"int": ("3", "07"), "float": ("0.5", "3"), "str": ("mps", "3", "true")}[kind])]
            )
    given = ", ".join(name for name, _, _ in fields)
    body = f"result = {{}}\n@click.command()\n{chr(10).join(lines)}\ndef main({given}):\n    result.update(dict({', '.join(f'{name}={name}' for name, _, _ in fields)}))\n"
    return f"import sys\nimport click\nsys.argv = {['x', *words]!r}\n{body}main(standalone_mode=False)\n"


def absl_program(seed: int) -> str:
    """Return a program that defines drawn flags and reads them of drawn words."""
    draw = random.Random(seed)
    fields = [(name, kind, default or "None") for name, kind, default in _fields(draw)]
    makers = {"int": "integer", "float": "float", "str": "string", "bool": draw.choice(("bool", "boolean"))}
    lines = [f"flags.DEFINE_{makers[kind]}({name!r}, {default}, 'help')" for name, kind, default in fields]
    words = [word.replace("--no_", "--no") for word in _flags(draw, fields)]
    read = ", ".join(f"{name}=FLAGS.{name}" for name, _, _ in fields)
    head = ["import sys", "from absl import flags", f"sys.argv = {['x', *words]!r}", "FLAGS = flags.FLAGS"]
    return "\n".join([*head, *lines, "FLAGS(sys.argv)", f"result = dict({read})", ""])


FITTING = {
    "int": ("3", "'3'", "2.0", "True"),
    "float": ("3", "0.5", "'1e-4'", "True"),
    "str": ("'3'", "'mps'"),
    "bool": ("True", "'yes'", "'f'", "1", "0.0"),
    "Optional[int]": ("3", "None", "'3'"),
    "Optional[str]": ("'mps'", "None"),
    "List[int]": ("['3', 4]", "[2]"),
    "Kind": ("'mps'", "3"),
    "Inner": ("{'lr': '3', 'n': 7}", "Inner(n='8')"),
    "Any": ("'3'", "0.5"),
}
GIVEN = ("3", "0.5", "'3'", "'1e-4'", "'mps'", "True", "'yes'", "2.0", "None", "['3', 4]", "{'lr': '3', 'n': 7}", "Inner(n='8')")
VALIDATORS = ("value * 2", "value", "str(value)", "None if value is None else value", "value if value else 3")


def pydantic_program(seed: int, version: int = 2) -> str:
    """Return a program that makes an object of a drawn model of pydantic of drawn values."""
    draw = random.Random(seed)
    names = [name.replace("-", "_") for name in draw.sample(NAMES, draw.randint(1, 4))]
    fields, methods = [], []
    keys: dict[str, str] = {}
    for name in names:
        kind = keys[name] = draw.choice(list(FITTING))
        default = None if draw.random() < 0.3 else _fitting(draw, kind)
        options = [f"default={default}"] if default is not None else []
        if draw.random() < 0.2:
            options.append(f"alias='{name}_x'")
            keys[f"{name}_x"] = kind
        if draw.random() < 0.15 and version == 2:
            options.append("validate_default=True")
        if len(options) > (default is not None):
            default = f"Field({', '.join(options)})"
        if version == 2 and draw.random() < 0.2:
            kind = f"Annotated[{kind}, {draw.choice(('Before', 'After', 'Plain'))}Validator(lambda value: {draw.choice(VALIDATORS)})]"
        fields.append(f"    {name}: {kind}{f' = {default}' if default is not None else ''}\n")
    for number in range(draw.choice((0, 0, 1, 2))):
        methods.append(_pydantic_method(draw, number, names, version))
    config = draw.sample(
        ("extra='allow'", "populate_by_name=True", "validate_default=True", "str_strip_whitespace=True")
        if version == 2
        else ("extra='allow'", "allow_population_by_field_name=True", "validate_all=True"),
        draw.choice((0, 0, 1, 2)),
    )
    said = f"    model_config = ConfigDict({', '.join(config)})\n" if version == 2 else f"    class Config:\n        {'; '.join(config)}\n"
    head = (
        "ConfigDict, field_validator, model_validator, BeforeValidator, AfterValidator, PlainValidator"
        if version == 2
        else "validator, root_validator"
    )
    given = ", ".join(f"{key}={_fitting(draw, kind)}" for key, kind in keys.items() if draw.random() < 0.6)
    made = draw.choice(
        (f"Made({given})", f"Made(**dict({given}))", f"Made.{'model_validate' if version == 2 else 'parse_obj'}(dict({given}))")
    )
    dumped = draw.choice(("{name: getattr(made, name) for name in NAMES}", f"made.{'model_dump' if version == 2 else 'dict'}()"))
    inner = {"Kind": "value", "Inner": "n"}
    parts = [(name, f"found[{name!r}]", inner.get(keys[name])) for name in names]
    read = ", ".join(f"{name}=getattr({of}, {part!r}, 0)" if part else f"{name}={of}" for name, of, part in parts)
    return (
        f"import enum\nfrom typing import Annotated, Any, List, Optional\nfrom pydantic import BaseModel, Field, {head}\n"
        "class Kind(enum.Enum):\n    a = 'mps'\n    b = 3\n"
        "class Inner(BaseModel):\n    lr: float = 1\n    n: int\n"
        f"class Made(BaseModel):\n{said if config else ''}{''.join(fields)}{''.join(methods)}"
        f"NAMES = {names!r}\nmade = {made}\nfound = {dumped.replace('NAMES', repr(names))}\nresult = dict({read})\n"
    )


def _fitting(draw: random.Random, kind: str) -> str:
    """Return a value that mostly is one for a field of a kind."""
    return draw.choice(FITTING[kind] if draw.random() < 0.9 else GIVEN)


def _pydantic_method(draw: random.Random, number: int, names: list[str], version: int) -> str:
    name, value = draw.choice([*names, "*"]), draw.choice(VALIDATORS)
    head = "    @classmethod\n" if version == 2 else ""
    if draw.random() < 0.6:
        way = draw.choice(("", ", mode='before'", ", mode='plain'")) if version == 2 else draw.choice(("", ", pre=True", ", always=True"))
        by = "field_validator" if version == 2 else "validator"
        return f"    @{by}({name!r}{way})\n{head}    def m{number}(cls, value):\n        return {value}\n"
    key = draw.choice(names)
    if draw.random() < 0.5:
        by = "model_validator(mode='before')" if version == 2 else "root_validator(pre=True)"
        return f"    @{by}\n{head}    def m{number}(cls, data):\n        data[{key!r}] = {draw.choice(GIVEN)}\n        return data\n"
    if version == 2:
        return f"    @model_validator(mode='after')\n    def m{number}(self):\n        self.{key} = {draw.choice(GIVEN)}\n        return self\n"
    return f"    @root_validator\n    def m{number}(cls, data):\n        data[{key!r}] = {draw.choice(GIVEN)}\n        return data\n"


def pydantic1_program(seed: int) -> str:
    """Return the same for pydantic 1."""
    return pydantic_program(seed, 1)


def group_program(seed: int) -> str:
    """Return a program whose drawn group of click, or of typer, calls drawn commands with drawn words."""
    draw = random.Random(seed)
    is_click = draw.random() < 0.5
    fields = {name: [one for one in _fields(draw, 3) if one[2] is not None] for name in draw.sample(("top", "fit", "try_it", "go"), 3)}
    first, *commands = fields
    words = _flags(draw, fields[first], "-") if draw.random() < 0.5 else []
    chosen = draw.choice(commands) if draw.random() < 0.8 else None
    if chosen is not None:
        words += [chosen.replace("_", "-"), *_flags(draw, fields[chosen], "-")]
    parts = [_member(draw, name, fields[name], is_click, name == first, first) for name in fields]
    head = "import click\n" if is_click else f"import typer\napp = typer.Typer({draw.choice(('', 'invoke_without_command=True'))})\n"
    call = f"{first}(standalone_mode=False)" if is_click else "app()"
    code = f"import sys\n{head}result = {{}}\nsys.argv = {['x', *words]!r}\n{''.join(parts)}"
    return f"{code}try:\n    {call}\nexcept SystemExit:\n    pass\n"


def _member(draw: random.Random, name: str, fields: list[tuple[str, str, str | None]], is_click: bool, is_first: bool, group: str) -> str:
    """Return a command of a group, or the function that is the group, which writes down what it gets."""
    body = f"    result.update(dict({', '.join(f'{name}_{one}={one}' for one, _, _ in fields)}))\n"
    if not is_click:
        by = "app.callback()" if is_first else f"app.command({name.replace('_', '-')!r})" if draw.random() < 0.5 else "app.command()"
        given = ", ".join(f"{one}: {kind} = {default}" for one, kind, default in fields)
        return f"@{by}\ndef {name}({given}):\n{body}"
    by = f"click.group({draw.choice(('', 'invoke_without_command=True'))})" if is_first else f"{group}.command()"
    lines = [f"@{by}"]
    for one, kind, default in fields:
        flag = f"--{one.replace('_', '-')}"
        flags = f"{flag}/--no-{flag[2:]}" if kind == "bool" else flag
        lines.append(f"@click.option({flags!r}, default={default})")
    return "\n".join([*lines, f"def {name}({', '.join(one for one, _, _ in fields)}):", body])
