"""What the platform answers on the Target: the knowledge of `rules/platform/answers.yaml`, ready for the evaluator."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from string import Formatter
from types import SimpleNamespace
from typing import Any

from mpslint.core.knowledge import platform_data, sets_of
from mpslint.core.versions import Version, VersionRange, parse_version

NO_ANSWER = object()
"""What a platform question answers that has no answer with the Target's versions."""


class Platform(SimpleNamespace):
    """The answers by the keys of that file, which explains each; its lists are sets here."""

    def answer(self, name: str, versions: Mapping[str, Version]) -> Any:
        """Return what a platform question answers with some versions; NO_ANSWER where they lack the function, or it isn't known."""
        if name not in self.results or not _is_in(name, versions):
            return NO_ANSWER
        rows = self.results[name]
        if not isinstance(rows, list):
            return rows
        return next((row["is"] for row in rows if VersionRange.parse(row["versions"]).matches(versions)), NO_ANSWER)

    @functools.cached_property
    def _prefixes(self) -> frozenset[str]:
        """Every name of which something is known, and the modules they lie in."""
        names = {*self.values, *self.results}
        return frozenset(".".join(parts[:n]) for parts in (name.split(".") for name in names) for n in range(1, len(parts) + 1))

    @functools.cached_property
    def changing_words(self) -> frozenset[str]:
        """The last words of the functions that change what they are given."""
        return frozenset(name.rpartition(".")[2] for name in self.changers)

    @functools.cached_property
    def _alias_heads(self) -> frozenset[str]:
        return frozenset(name.split(".")[0] for name in self.aliases)

    def has(self, name: str, versions: Mapping[str, Version]) -> bool:
        """Return whether a name is known to exist with some versions."""
        return name in self._prefixes and _is_in(name, versions)

    def has_method(self, makers: tuple[str, ...], method: str) -> bool:
        """Return whether an object certainly has a method, by the names of what makes it and of the classes that its class derives from."""
        return any(method in methods and any(fnmatch.fnmatchcase(name, one) for name in makers) for one, methods in self.methods_of.items())

    def is_absent_device(self, value: Any) -> bool:
        """Return whether a constant names a device that the Mac does not have (`cuda:0`)."""
        return isinstance(value, str) and value.split(":")[0] in self.absent_devices

    def lacks(self, module: str) -> bool:
        """Return whether a module is one that no Mac has, or lies in one (`google.colab.drive`)."""
        parts = module.split(".")
        return any(".".join(parts[:n]) in self.absent_imports for n in range(1, len(parts) + 1))

    def device_of_any_index(self, text: Any) -> str:
        """Return the first of a kind of device that the Mac does not have, for a text to which only an index is added (`cuda:`, `cuda:%d`,
        `cuda:{}`): whatever the index is, there is none; '' for any other text."""
        kind, colon, index = text.partition(":") if isinstance(text, str) else ("", "", "")
        return f"{kind}:0" if colon and kind in self.absent_devices and _is_put_in(index) else ""

    def normalise(self, name: str) -> str:
        """Return the name by which rules know it: `transformers.trainer.Trainer` is `transformers.Trainer`."""
        head, _, rest = name.partition(".")
        if head in self.flat and rest:
            parts = rest.split(".")
            for index, part in enumerate(parts):
                if part[:1].isupper():
                    return f"{head}.{'.'.join(parts[index:])}"
            return name
        if head in self._alias_heads:
            parts = name.split(".")
            for length in range(len(parts), 0, -1):
                alias = self.aliases.get(".".join(parts[:length]))
                if alias is not None:
                    return self.normalise(".".join([alias, *parts[length:]]))
        return name

    def imported(self, module: str, name: str) -> str:
        """Return the name by which rules know `from module import name`."""
        head = module.split(".")[0]
        return f"{head}.{name}" if head in self.flat else self.normalise(f"{module}.{name}")


def _is_put_in(text: str) -> bool:
    """Return whether nothing but a value that is put into it stands in a text: nothing yet, `%d`, `{}` or `{rank:02d}`."""
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return False
    return text in ("", "%d", "%i", "%s") or (len(fields) == 1 and not fields[0][0] and fields[0][1] is not None)


def _is_in(name: str, versions: Mapping[str, Version]) -> bool:
    """Return whether the Target's torch has a function or a module of `rules/platform/names.yaml`; it has every other."""
    table = platform_data("names")
    module, _, function = name.rpartition(".")
    rows = list(table[name].values()) if name in table else [table.get(module, {}).get(function)]
    firsts = [parse_version(row["since"]) or () for row in rows if isinstance(row, dict)]
    torch = versions.get("torch")
    return torch is None or not firsts or any(torch[: len(first)] >= first for first in firsts)


@functools.lru_cache(maxsize=1)
def load_platform() -> Platform:
    """Return the answers."""
    return Platform(**sets_of("answers"))


@functools.lru_cache(maxsize=1)
def with_cuda() -> Platform:
    """Return the answers of a Linux machine with one CUDA device, on which a file that is fixed for the Mac has to mean what it meant."""
    mac = load_platform()
    without_mps = dict.fromkeys((name for name in mac.results if "mps" in name), False)
    cuda = {name: 1 if name.endswith("count") else True for name in mac.results if name in mac.cuda_questions}
    results = {name: answer for name, answer in mac.results.items() if not isinstance(answer, list)}
    answers = {"values": {**mac.values, "sys.platform": "linux"}, "results": {**results, **without_mps, **cuda}}
    return Platform(**{**sets_of("answers"), **answers})
