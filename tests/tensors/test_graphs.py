"""Graphs that are recorded or kept for nothing, in drawn programs that real torch runs: hooks see which passes are differentiated."""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._pytree import tree_leaves

from tests.tensors.walked import events_of

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def features(self, x):
        return torch.relu(self.body(x))

    def forward(self, x):
        return self.head(self.features(x))


net, teacher = Net(), Net()
criterion = nn.CrossEntropyLoss()
data = [(torch.randn(2, 4), torch.tensor([0, 2])) for _ in range(3)]
loader = torch.utils.data.DataLoader(data, batch_size=None)
"""
FORWARDS = ["out = net(x)", "out = net(x).detach()", "out = net.head(net.features(x))", "out = net(x) + teacher(x)", "out = net(teacher.features(x))",
            "with torch.no_grad():\n    out = net(x)", "with torch.set_grad_enabled(GRAD):\n    out = net(x)", "out = torch.stack([net(one) for one in x])"]  # fmt: skip
LEFT = {
    "print(out.argmax(1).tolist())": "",
    "kept.append(out)": "torch.cat(kept).sum().backward()",
    "kept.append(out.detach())": "print(torch.cat(kept).sum().item())",
    "kept.append(criterion(out, y).item())": "kept.clear()",
    "total = total + out.sum()": "(total / 3).backward()",
    "kept.append({'out': out})": "kept[0]['out'].sum().backward()",
    "total += criterion(out, y)": "total.backward()",
    "kept.extend([out, y])": "kept[0].sum().backward()",
    "kept.append(out.argmax(1))": "",
}
"""What is done with an output, and a backward pass of what that left."""
TRAINED = [
    "loss = criterion(out, y)\nloss.backward()",
    "loss = out.sum() / 2\n(loss * 2).backward()",
    "loss = out.mean()\ntorch.autograd.backward(loss)",
]
AFTER = [
    "kept.append(loss)",
    "total += loss",
    "total += loss.item()",
    "total = total + loss.detach()",
    "kept = [loss]",
    "print(float(loss))",
]
MODES = [
    "net.eval()",
    "net.train()",
    "net.train(False)\nteacher.eval()",
    "pass",
    "for one in net.parameters():\n    one.requires_grad = False",
    "teacher.requires_grad_(False)",
]

MOST_LINES = 3
"""Between a pass and what keeps its output."""


def indented(text: str, by: str = "    ") -> str:
    """Return a text, indented."""
    return "".join(f"{by}{line}\n" for line in text.splitlines())


def phase(draw: random.Random, number: int) -> str:
    """Return a loop over the data that trains or evaluates, or a function that does one or the other, and its calls."""
    forward = draw.choice(FORWARDS).replace("GRAD", draw.choice(["True", "False"]))
    trains = draw.random() < 0.5
    left = draw.choice([*LEFT])
    steps = f"{draw.choice(TRAINED)}\n{draw.choice(AFTER)}" if trains else left
    shape = draw.choice(["plain", "plain", "function", "shared", "decorated"])
    if shape == "shared":
        steps = f"loss = criterion(out, y)\nif train:\n    loss.backward()\n{draw.choice(['print(loss.item())', 'seen = out.argmax(1)'])}"
    loop = f"for x, y in loader:\n{indented(forward)}{indented(steps)}"
    head = f"{draw.choice(MODES)}\nkept, total = [], 0\n"
    can_end = not trains and shape != "shared" and "detach" not in forward and "no_grad" not in forward
    end = (LEFT[left] if can_end and draw.random() < 0.4 else "pass") + "\n"
    if shape == "plain":
        return head + loop + end
    decorator = "@torch.no_grad()\n" if shape == "decorated" and not trains else ""
    function = f"{decorator}def run{number}(net, loader, train=True):\n{indented('kept, total = [], 0')}{indented(loop)}{indented(end)}"
    calls = ["net.train()", f"run{number}(net, loader)", "net.eval()", f"run{number}(net, loader, train=False)"]
    return function + "\n".join(calls if shape == "shared" else [draw.choice(MODES), f"run{number}(net, loader)"]) + "\n"


def program(seed: int) -> str:
    """Return a drawn program."""
    draw = random.Random(seed)
    return HEAD + "".join(phase(draw, number) for number in range(draw.choice([1, 1, 2])))


Passes = dict[tuple[int, ...], list[tuple[bool, list[bool]]]]
Kept = dict[int, list[bool]]


def run(code: str) -> tuple[Passes, Kept] | None:
    """Run a program; return its passes and what it keeps, None for one that raises.

    For each pass of a module outside of others, by the lines of the calls that led there: whether it is in evaluation mode with a graph, and
    whether that was differentiated. For each line that keeps tensors with a graph, whether these were differentiated from then on.
    """
    seen: Passes = {}
    kept: Kept = {}

    def taken_from(marks: list[bool]) -> Callable[[Any], None]:
        return lambda _: marks.append(True)

    def note(module: Any, inputs: Any, output: Any) -> None:
        if isinstance(module, torch.nn.CrossEntropyLoss):
            return
        frames = [frame for frame in traceback.extract_stack() if frame.filename == "<program>"]
        lines = tuple(frame.lineno or 0 for frame in frames if frame.name not in ("forward", "features", "<listcomp>"))
        taken: list[bool] = []
        if output.requires_grad:
            output.register_hook(taken_from(taken))
        seen.setdefault(lines, []).append((not module.training and output.requires_grad, taken))

    def keep(*values: Any) -> None:
        for one in tree_leaves(values):
            if isinstance(one, torch.Tensor) and one.requires_grad:
                one.register_hook(taken_from(kept.setdefault(sys._getframe(2).f_lineno, [])))

    class Rows(list[Any]):
        def append(self, one: Any) -> None:
            keep(one)
            super().append(one)

        def extend(self, more: Any) -> None:
            keep(*more)
            super().extend(more)

    class Sum:
        value: Any = 0

        def __add__(self, one: Any) -> Sum:
            keep(one)
            made = Sum()
            made.value = self.value + one
            return made

        def __truediv__(self, one: int) -> Any:
            return self.value / one

        def backward(self) -> None:
            self.value.backward()

    handle = register_module_forward_hook(note)
    try:
        exec(
            compile(code.replace("[], 0", "Rows(), Sum()"), "<program>", "exec"),
            {"__name__": "__main__", "print": lambda *_: None, "Rows": Rows, "Sum": Sum},
        )
    except Exception:
        return None
    finally:
        handle.remove()
    return seen, kept


@pytest.mark.parametrize("seed", range(150))
def test_what_is_recorded_and_kept_for_nothing_is_told_as_torch_sees_it(seed: int) -> None:
    """Passes in evaluation mode whose graph nobody differentiates, and tensors kept with a graph that nobody differentiates any more."""
    code = program(seed)
    if (ran := run(code)) is None:
        pytest.skip("raises")
    seen, left = ran
    events = events_of(code)
    kept = {line for line, taken in left.items() if not taken}

    idle = {lines for lines, passes in seen.items() if not any(taken for _, taken in passes) and any(one for one, _ in passes)}
    fine = {line for lines in seen.keys() - idle for line in lines}
    expected = {next((line for line in reversed(lines) if line not in fine), lines[-1]) for lines in idle}

    assert {one.node.lineno for one in events if one.kind == "kept" and one.of != "device"} == kept, code
    told = {one.node.lineno for one in events if one.kind == "with_graph"}
    assert told == {line for line in expected if not any(0 <= one - line <= MOST_LINES for one in kept)}, code


UPDATE = """
total, losses = 0, []


def update(x, y, losses):
    global total
    loss = criterion(net(x), y)
    penalties = []
    penalties.append(net.head.weight.pow(2).sum())
    loss += 0.1 * net(x).pow(2).mean()
    (loss + sum(penalties)).backward()
    total += loss
    losses.append(loss)


for x, y in loader:
    update(x, y, losses)
"""


def test_a_sum_of_a_function_s_own_ends_with_its_call() -> None:
    """`loss += penalty` in a step that a loop calls keeps nothing: to detach the penalty would train without it. A global one does."""
    code = HEAD + UPDATE
    lines = code.splitlines()

    assert [lines[one.node.lineno - 1].strip() for one in events_of(code) if one.kind == "kept"] == ["total += loss", "losses.append(loss)"]
