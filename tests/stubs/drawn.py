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
        lines.append(f"parser.add_argument('path', nargs={draw.choice(('None', repr('?'), repr('*'), '2'))}, default='here')")
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
