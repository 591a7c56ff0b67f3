"""Measures how fast this machine runs operators of each kind and size, in a few seconds, on whatever device it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from functools import partial

import torch
from torch import nn

from mpslint.core.knowledge import platform_data
from mpslint.estimate.calibration import Calibration, Curve
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.watch import Watch

Run = Callable[[], object]
MIB = 2**20
SIZES = (MIB // 64, MIB // 4, 2 * MIB, 16 * MIB, 64 * MIB)
"""Bytes of the tensors that elementwise operators and their like are timed on."""
REPEATS = 7
MOST_SECONDS = 15.0
EACH = 0.3
"""Seconds for one size of one kind, at most."""
LAYERS: Mapping[str, Callable[[], nn.Module]] = {
    "softmax": partial(nn.Softmax, -1), "normalization": partial(nn.LayerNorm, 512), "special": nn.GELU,
}  # fmt: skip


def calibrate(device: str, machine: str) -> Calibration:
    """Return the rates of a device, of a CPU those of one thread; `machine` is how reports name it."""
    start = time.perf_counter()
    torch.set_num_threads(1)
    clock = Stopwatch(device)
    found: dict[str, list[tuple[float, float]]] = {}
    by_flop = tuple(platform_data("step_time")["compute"])
    for kind, make in programs():
        if kind in found and time.perf_counter() - start > MOST_SECONDS:
            continue
        amount, count = amount_of(make, kind in by_flop)
        with torch.device(device):
            found.setdefault(kind, []).append((amount, clock.seconds(make()) / count))
    curves: dict[str, Curve] = {kind: rising(points) for kind, points in found.items()}
    with torch.device(device):
        dispatch = _dispatch(clock, curves["matmul"][0][1])
        wait, compiling = _wait(clock), _compile(clock)
    version, date = torch.__version__.partition("+")[0], datetime.now(timezone.utc).strftime("%Y-%m-%d")
    seconds = time.perf_counter() - start
    return Calibration(device, machine, version, date, curves, by_flop, dispatch, wait, compiling, seconds)


def device_here() -> str:
    """Return the device that training would use here."""
    if torch.backends.mps.is_available():
        try:
            return "mps" if (torch.ones(2, device="mps") + 1).sum().item() == 4 else "cpu"
        except RuntimeError:  # a virtual Mac has an MPS device that refuses every allocation
            return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


class Stopwatch:
    """Times a program on a device: the shortest of several runs, since other programs share the machine.

    On a CPU the seconds are those that this process got, and not those that it waited for other programs.
    """

    def __init__(self, device: str) -> None:
        self.now = time.process_time if device == "cpu" else time.perf_counter
        self.wait = {"mps": torch.mps.synchronize, "cuda": torch.cuda.synchronize}.get(device, lambda: None)

    def once(self, run: Run, count: int = 1) -> float:
        """Return the seconds of `count` runs, the device's work included."""
        self.wait()
        start = self.now()
        for _ in range(count):
            run()
        self.wait()
        return self.now() - start

    def seconds(self, run: Run) -> float:
        """Return the seconds of one run."""
        run()
        first = self.once(run)
        count = max(1, min(200, int(0.004 / max(first, 1e-7))))
        best, spent = first, first
        for _ in range(REPEATS):
            if spent > EACH:
                break
            took = self.once(run, count)
            best, spent = min(best, took / count), spent + took
        return best


def programs() -> Iterator[tuple[str, Callable[[], Run]]]:
    """Yield the kind of each program and what makes it on the default device; the small ones of every kind come first."""
    for step, size in enumerate(SIZES):
        numbers, rows, side, length = size // 4, max(1, size // 2048), (64, 192, 512, 1024, 1536)[step], (16, 32, 64, 128, 256)[step]
        yield "matmul", partial(_of_two, torch.matmul, (side, side), (side, side))
        yield "elementwise", partial(_of_two, torch.add, (numbers,), (numbers,))
        yield "attention", partial(_of_two, torch.bmm, (16, length, 64), (16, 64, length))
        width, pixels = ((16, 8), (32, 16), (64, 16), (64, 32), (128, 32))[step]
        for kind, channels, groups in (("convolution", width, 1), ("depthwise", 2 * width, 2 * width)):
            layer = partial(nn.Conv2d, channels, channels, 3, padding=1, groups=groups, bias=False)
            yield kind, partial(_trained, layer, (8, channels, pixels, pixels))
        for kind, make in LAYERS.items():
            yield kind, partial(_trained, make, (rows, 512))
        yield "random", partial(_random, rows)
        if step < len(SIZES) - 1:
            yield "lookup", partial(_lookup, rows)
            yield "pooling", partial(_trained, partial(nn.MaxPool2d, 2), (max(1, 4 ** (step + 1) // 8), 32, pixels, pixels))


def amount_of(make: Callable[[], Run], is_flop: bool) -> tuple[float, float]:
    """Return what one operator of a program does on the mean, in FLOP or bytes, and how many there are, counted on meta tensors."""
    watch = Watch(LiveMemory(), GraphCache(frozenset()))
    with torch.device("meta"):
        run = make()
        watch.meter = Meter()
        with watch:
            run()
    seen = watch.meter.operators()
    count = sum(one.count for one in seen)
    return sum((one.flop if is_flop else one.moved) * one.count for one in seen) / count, count


def rising(points: list[tuple[float, float]]) -> Curve:
    """Return points by amount, no larger amount faster than a smaller one: what looks so is noise of a shared machine."""
    made: list[tuple[float, float]] = []
    for amount, seconds in sorted(points, reverse=True):
        made.append((amount, min(seconds, made[-1][1]) if made else seconds))
    return tuple(reversed(made))


def _trained(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> Run:
    layer, source = make(), torch.rand(shape).requires_grad_()
    gradient = torch.ones_like(layer(source))

    def run() -> None:
        source.grad = None
        layer(source).backward(gradient)

    return run


def _of_two(operator: Callable[..., object], *shapes: tuple[int, ...]) -> Run:
    return partial(operator, *map(torch.rand, shapes))


def _random(rows: int) -> Run:
    mask = torch.empty(rows, 512)
    return lambda: mask.bernoulli_(0.1)


def _lookup(rows: int) -> Run:
    table, ids = nn.Embedding(4096, 512), torch.zeros(rows, dtype=torch.long)
    gradient = torch.ones_like(table(ids))

    def run() -> None:
        table.zero_grad()
        table(ids).backward(gradient)

    return run


def _small_step() -> Run:
    model = nn.Sequential(*(layer for _ in range(10) for layer in (nn.Linear(32, 32), nn.ReLU())))
    source = torch.rand(8, 32)

    def run() -> None:
        model.zero_grad()
        model(source).sum().backward()

    return run


def _dispatch(clock: Stopwatch, kernel: float) -> float:
    """Return what a program needs for one operator of a small network's step besides the operator."""
    return max(0.0, clock.seconds(_small_step()) / amount_of(_small_step, is_flop=False)[1] - kernel)


def _wait(clock: Stopwatch) -> float:
    one = torch.ones(1)
    return max(0.0, clock.seconds(lambda: (one + 1).item()) - clock.seconds(lambda: one + 1))


def _compile(clock: Stopwatch) -> float:
    """Return what a matmul and a softmax need more for a shape that was not seen before than for one that was."""
    costs = []
    for length in (37, 41, 43, 47, 53):
        left, right = torch.rand(length, 64), torch.rand(64, length)

        def run(left: torch.Tensor = left, right: torch.Tensor = right) -> torch.Tensor:
            return torch.softmax(left @ right, -1)

        costs.append(clock.once(run) - clock.seconds(run))
    return max(0.0, sorted(costs)[len(costs) // 2]) / 2
