"""Batches of drawn data sets, collated, gone through, moved and used in drawn ways: real torch decides what raises."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mpslint.facts.events import Certainty
from tests.tensors.programs import HEAD
from tests.tensors.test_events import line_that_raises, lines_of
from tests.tensors.walked import events_of

DRAWN = 60
ENTRIES = {
    "torch.ones(4)": False,
    "torch.ones(4, dtype=torch.float64)": True,
    "torch.from_numpy(self.wide[i])": True,
    "torch.from_numpy(self.wide[i]).float()": False,
    "torch.tensor(self.rows[i], dtype=torch.float32)": False,
    "self.wide[i]": True,
    "self.narrow[i]": False,
    "i": False,
    "float(i)": True,
    "self.kept[i]": False,
    "np.float32(i)": False,
}
"""What a sample holds, and whether that is float64 in a batch."""
SAMPLES = [
    "        return {{'a': {a}, 'b': {b}}}\n",
    "        row = {{}}\n        row['a'] = {a}\n        row['b'] = {b}\n        return row\n",
    "        row = dict(a={a})\n        row.update({{'b': {b}}})\n        return row\n",
    "        a, b = {a}, {b}\n        return dict(a=a, b=b)\n",
    "        row = {{'a': {a}}}\n        for name in ('b',):\n            row[name] = {b}\n        return row\n",
]
DATA = (
    "from torch.utils.data import DataLoader, Dataset\n"
    "class Rows(Dataset):\n"
    "    def __init__(self):\n"
    "        self.wide = np.random.rand(8, 4)\n"
    "        self.narrow = self.wide.astype(np.float32)\n"
    "        self.rows = [[0.5] * 4 for _ in range(8)]\n"
    "        self.kept = [torch.ones(4) for _ in range(8)]\n"
    "    def __len__(self):\n"
    "        return 8\n"
    "    def __getitem__(self, i):\n"
)
COLLATES = [
    ("", ""),
    ("def together(rows):\n    return {k: torch.stack([torch.as_tensor(row[k]) for row in rows]) for k in rows[0]}\n", ", collate_fn=together"),
    ("from torch.utils.data import default_collate\ndef together(rows):\n    made = default_collate(rows)\n    made['b'] = made['b'] * 1\n    return made\n", ", collate_fn=together"),
]  # fmt: skip
LOOPS = [
    "for batch in loader:\n",
    "for n, batch in enumerate(loader):\n",
    "from tqdm import tqdm\nfor batch in tqdm(loader, disable=True):\n",
    "for epoch in range(2):\n  for batch in loader:\n",
    "batches = iter(loader)\nfor n in range(2):\n    batch = next(batches)\n",
]
MOVES = [
    "    batch = {k: v.to(dev) for k, v in batch.items()}\n",
    "    for k, v in batch.items():\n        batch[k] = v.to(dev)\n",
    "    for k in batch:\n        batch[k] = batch[k].to(dev)\n",
    "    for k, v in batch.items():\n        if isinstance(v, torch.Tensor):\n            batch[k] = v.to(dev)\n",
    "    batch = {k: v.to(dev) if torch.is_tensor(v) else v for k, v in batch.items()}\n",
    "    batch['a'] = batch['a'].to(dev)\n",
    "    for k in ['a', 'b']:\n        batch[k] = batch[k].to(dev)\n",
    "    batch = move(batch)\n",
    "    a, b = (v.to(dev) for v in batch.values())\n    batch = {'a': a, 'b': b}\n",
    "    batch = dict(zip(batch.keys(), [v.float().to(dev) for v in batch.values()]))\n",
]
MOVE = (
    "def move(x):\n"
    "    if isinstance(x, dict):\n"
    "        return {k: move(v) for k, v in x.items()}\n"
    "    if isinstance(x, (list, tuple)):\n"
    "        return [move(v) for v in x]\n"
    "    return x.to(dev) if torch.is_tensor(x) else x\n"
)
USES = [
    "    y = batch['a'] + torch.ones(1, device=dev)\n",
    "    y = batch['b'].float() * torch.ones(1, device=dev)\n",
    "    y = batch['a'] + batch['a'] * 2\n",
    "    y = batch['a'].sum() + batch['b'].sum()\n    z = batch['a'].reshape(-1) + batch['b'].reshape(-1)[:1]\n",
    "    for v in batch.values():\n        y = v + torch.ones(1, device=dev)\n",
]


PAIRS = [
    "        return {a}, {b}\n",
    "        a = {a}\n        b = {b}\n        return a, b\n",
    "        sample = [{a}]\n        sample.append({b})\n        return tuple(sample)\n",
]
PAIR_COLLATES = [
    ("", ""),
    ("def together(rows):\n    a, b = zip(*rows)\n    return torch.stack([torch.as_tensor(x) for x in a]), torch.stack([torch.as_tensor(x) for x in b])\n", ", collate_fn=together"),
    ("def together(rows):\n    a = torch.stack([torch.as_tensor(row[0]) for row in rows])\n    b = torch.tensor([0.5 for row in rows])\n    return a, b\n", ", collate_fn=together"),
    ("def together(rows):\n    a, b = [], []\n    for x, y in rows:\n        a.append(torch.as_tensor(x))\n        b.append(torch.as_tensor(y))\n    return torch.stack(a), torch.stack(b)\n", ", collate_fn=lambda rows: together(rows)"),
    ("from torch.utils.data import Subset, random_split\nrows, rest = random_split(Rows(), [4, 4])\n", ""),
]  # fmt: skip
PAIR_LOOPS = [
    "for a, b in loader:\n",
    "for n, (a, b) in enumerate(loader):\n",
    "for batch in loader:\n    a, b = batch\n",
    "for batch in loader:\n    a, b = batch[0], batch[1]\n",
    "from tqdm import tqdm\nfor a, b in tqdm(loader, disable=True):\n",
    "for (a, b), n in zip(loader, range(2)):\n",
    "a, b = next(iter(loader))\nfor n in range(2):\n",
    "def batches():\n    for a, b in loader:\n        yield a, b\nfor a, b in batches():\n",
]
PAIR_MOVES = [
    "    a, b = a.to(dev), b.to(dev)\n",
    "    a = a.to(dev)\n",
    "    a, b = [x.to(dev) for x in (a, b)]\n",
    "    a, b = map(lambda x: x.to(dev), (a, b))\n",
    "    a, b = move([a, b])\n",
    "    a = torch.as_tensor(a, device=dev)\n    b = b.to(device=dev, dtype=torch.float32)\n",
    "    pair = []\n    for x in (a, b):\n        pair.append(x.to(dev))\n    a, b = pair\n",
    "    a, b = a.float().to(dev), b.to(dev)\n",
]
PAIR_USES = [
    "    y = a + torch.ones(1, device=dev)\n",
    "    y = a.reshape(-1)[:1] + b.reshape(-1)[:1]\n",
    "    y = torch.cat([a.reshape(-1), b.reshape(-1).float()])\n",
    "    y = nn.functional.mse_loss(a.float().reshape(-1)[:1], b.float().reshape(-1)[:1])\n",
]


def drawn_pairs(seed: int) -> str:
    """Return a program whose data set gives pairs, by the number of the draw."""
    draw = random.Random(seed)
    a, b = draw.choice([*ENTRIES]), draw.choice([*ENTRIES])
    collate, given = draw.choice(PAIR_COLLATES)
    data = "rows" if "rows, rest" in collate else "Rows()"
    sample = draw.choice(PAIRS).format(a=a, b=b)
    body = draw.choice(PAIR_LOOPS) + draw.choice(PAIR_MOVES) + draw.choice(PAIR_USES)
    return f"{DATA}{sample}{collate}{MOVE}loader = DataLoader({data}, batch_size=4{given})\n{body}"


def drawn_program(seed: int) -> str:
    """Return a program that goes through a data set, by the number of the draw."""
    draw = random.Random(seed)
    a, b = draw.choice([*ENTRIES]), draw.choice([*ENTRIES])
    collate, given = draw.choice(COLLATES)
    body = draw.choice(MOVES) + draw.choice(USES)
    loop = draw.choice(LOOPS)
    if loop.startswith("for epoch"):
        body = "".join(f"  {line}\n" for line in body.splitlines())
    sample = draw.choice(SAMPLES).format(a=a, b=b)
    return f"{DATA}{sample}{collate}{MOVE}loader = DataLoader(Rows(), batch_size=4{given})\n{loop}{body}"


@pytest.mark.parametrize("drawn", [drawn_program, drawn_pairs])
@pytest.mark.parametrize("seed", range(DRAWN))
def test_batches_of_drawn_data_sets(drawn: Callable[[int], str], seed: int) -> None:
    """Where a program raises, that is seen in this line or held possible; where it doesn't, nothing is said to be sure."""
    code = HEAD + drawn(seed)
    line = line_that_raises(code)
    events = events_of(code)

    sure = [event for event in events if event.certainty is Certainty.SURE and event.kind in ("float64", "mismatch")]
    if not line:
        assert sure == [], code
        return
    told = [event for event in events if line in lines_of(event) and event.kind in ("float64", "mismatch")]
    assert any(event.certainty is not Certainty.ASSUMED for event in told), code
    assert all(line in lines_of(event) or min(lines_of(event)) > line for event in sure), code
