"""A `collections.deque` is a list with two ends; what falls out of a bounded one isn't followed: CPython says what is true of each."""

from __future__ import annotations

import pytest

from tests.program.against_cpython import compare

HEAD = "import collections, random\n"
MADE = (
    "collections.deque()",
    "collections.deque([1, 2])",
    "collections.deque([1, 2], maxlen=2)",
    "collections.deque([1, 2, 3], 2)",
    "collections.deque(maxlen=1)",
    "collections.deque([unknown(), 2])",
    "collections.deque(maxlen=unknown() or None)",
    "collections.deque(unknown(), 3)",
)
CHANGED = (
    "d.append(3)",
    "d.appendleft(3)\nd.append(4)",
    "d.extendleft([5, 6])",
    "d.extend('ab')\nd.rotate(1)",
    "d += [7]",
    "for i in range(unknown() or 2):\n    d.append(i)",
    "d.append(8)\nd.pop()\nd.append(9)",
    "d.clear()",
    "e = d\ne.append(1)",
    "d[0] = 5",
    "del d[0]",
    "d.remove(2)",
    "def f():\n    d.append(4)\nf()",
)
ASKED = (
    *("list(d)", "len(d)", "d[0]", "d[-1]", "d.maxlen", "bool(d)", "1 in d", "sum(d)", "sorted(d)", "str(d)", "d.count(1)", "max(d)"),
    *("isinstance(d, list)", "type(d).__name__", "hasattr(d, 'popleft')", "hasattr(d, 'sort')", "d == [1, 2]", "d == d.copy()"),
    *("list(d.copy())", "list(reversed(d))", "d.popleft()", "d.pop()", "[i for i in d]", "f'{d}'", "getattr(d, 'maxlen', 3)", "tuple(d)"),
)


@pytest.mark.parametrize("made", MADE)
def test_what_is_known_of_a_deque_is_true(made: str) -> None:
    false = {}
    for changed in CHANGED:
        for asked in ASKED:
            lines = f"d = {made}\n{changed}\nx = {asked}"
            code = f"{HEAD}x = None\ntry:\n{''.join(f'    {line}{chr(10)}' for line in lines.splitlines())}except Exception:\n    x = 'raised'\nprobe(x)\n"
            if found := compare(code).false:
                false[changed, asked] = found[0]

    assert not false


def test_what_isnt_bounded_is_known() -> None:
    code = (
        f"{HEAD}d = collections.deque([1])\nd.appendleft(2)\nd.append(3)\nprobe(d[0])\nprobe(d.popleft())\nprobe(len(d))\nprobe(list(d))\n"
    )
    assert compare(code).known == 4


@pytest.mark.parametrize(
    "rows", ["[(1, 'a'), (2, 'b')]", "[]", "[(1, 2)] * 3", "unknown()", "random.sample([(1, 'a'), (2, 'b')], 2)", "[(1,), (2, 3)]"]
)
def test_what_is_known_of_columns_is_true(rows: str) -> None:
    code = f"{HEAD}x = y = None\ntry:\n    rows = {rows}\n    x, y = zip(*rows)\nexcept Exception:\n    x = 'raised'\nprobe(x)\nprobe(y)\nprobe(len(x))\n"
    assert not compare(code).false
