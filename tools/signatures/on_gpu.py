"""Measure on a real GPU which operands may stay on the CPU: `python tools/signatures/on_gpu.py on_gpu.yaml`. Needs a torch with CUDA.

Meta tensors and fake tensors are only as strict as their kernels, which for some operators ask nothing. CUDA's ask, as those of MPS do.
What this program writes is `tools/signatures/on_gpu.yaml`, which `make_signatures.py` reads: for each function of several tensors, which
parameters raise when they alone stay on the CPU, which may stay there, which the result follows there, and which may where they have no
dimensions (`joins`).
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from signatures.calls import Call, leaves
from signatures.concluded import ASKED
from signatures.making import names
from signatures.measured import DEVICE_ERRORS, Observed, observe, run, stays
from signatures.written import flow

GPU = "cuda"
FATAL = ("illegal memory", "device-side assert", "unspecified launch", "misaligned", "CUDA error")
CHILDREN = 14


class Crashed(Exception):
    """The process can't use the GPU any more."""


def judged(name: str, call: Call, left: str) -> str:
    """Say what happens when the tensors of one parameter stay on the CPU: `raises`, where the result lies, or '' for another error."""
    kept = stays(call, left)
    moved = call.mapped(lambda _, one: one.detach().clone() if kept(one) else one.detach().clone().to(GPU))
    try:
        value = run(name, moved)
        torch.cuda.synchronize()
    except Exception as error:
        said = str(error)
        if any(words in said for words in FATAL) and "torch._check" not in said:
            raise Crashed(said) from error
        return "raises" if any(words in said for words in DEVICE_ERRORS) else f"? {type(error).__name__} {said[:80]}"
    return ",".join(sorted({one.device.type for one in leaves(value)})) or "accepts"


def told(name: str, observed: Sequence[Observed]) -> dict[str, dict[str, list[str]]]:
    """Return what happens by parameter: under `whole` with tensors as they are, under `scalar` with one that has no dimensions."""
    found: dict[str, dict[str, set[str]]] = {"whole": {}, "scalar": {}}
    seen: set[Any] = set()
    for one in observed:
        shape = tuple((key, len(given), given[0].dim() == 0) for key, given in one.call.tensors().items())
        if shape in seen or len(seen) > ASKED or not one.call.tensors():
            continue
        seen.add(shape)
        found["whole"].setdefault("", set()).add(judged(name, one.call, ""))
        if sum(len(given) for given in one.call.tensors().values()) < 2:
            continue
        for key, given in one.call.tensors().items():
            if any(tensor.dim() for tensor in given):
                found["whole"].setdefault(key, set()).add(judged(name, one.call, key))
            if any(tensor.layout != torch.strided for tensor in given):
                continue
            probe = one.call.mapped(
                lambda other, tensor, key=key: tensor.reshape(-1)[:1].reshape(()) if other == key and tensor.numel() else tensor
            )
            if any(tensor.dim() for other, tensors in probe.tensors().items() if other != key for tensor in tensors) and _runs(name, probe):
                found["scalar"].setdefault(key, set()).add(judged(name, probe, key))
    return {way: {key: sorted(said) for key, said in by.items()} for way, by in found.items()}


def summary(said: dict[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    """Return the parameters by what happens when they stay on the CPU, for those where it is always the same."""
    found: dict[str, list[str]] = {}
    for key, verdicts in said.get("whole", {}).items():
        way = {("raises",): "raises", (GPU,): "stays", ("cpu",): "follows"}.get(
            tuple(sorted({_plain(one) for one in verdicts} - {"?"})), "differs"
        )
        if key:
            found.setdefault(way, []).append(key)
    for key, verdicts in said.get("scalar", {}).items():
        if {_plain(one) for one in verdicts} == {GPU}:
            found.setdefault("joins", []).append(key)
    return found


def _plain(verdict: str) -> str:
    refused = ("but got tensor with", "should be the same", "get_device()", "should b", "CPU Scalar support")
    return "raises" if any(words in verdict for words in refused) else "?" if verdict.startswith("?") else verdict


def _runs(name: str, call: Call) -> bool:
    try:
        run(name, call.mapped(lambda _, one: one.detach().clone()))
    except Exception:
        return False
    return True


def work(wanted: Sequence[str], out: Path) -> None:
    """Measure names one after the other; ends the process where one takes the GPU away from it."""
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    with out.open("a") as file:
        for name in wanted:
            try:
                said: Any = told(name, observe(name))
            except Crashed as error:
                print(json.dumps([name, {"crashed": str(error)[:100]}]), file=file, flush=True)
                os._exit(3)
            except Exception as error:
                said = {"error": repr(error)[:100]}
            print(json.dumps([name, said]), file=file, flush=True)
    os._exit(0)


def main(out: Path) -> None:
    """Measure every name in processes of their own, each begun again after the name that ended it."""
    every = names()
    parts = {number: every[number::CHILDREN] for number in range(CHILDREN)}
    running = {number: _start(out, number, part) for number, part in parts.items()}
    while running:
        for number, child in list(running.items()):
            if child.poll() is None:
                continue
            del running[number]
            part = out.with_suffix(f".{number}")
            done = {json.loads(line)[0] for line in part.read_text().splitlines()} if part.exists() else set()
            parts[number] = [name for name in parts[number] if name not in done]
            if child.returncode not in (0, 3) and parts[number]:
                with part.open("a") as file:
                    print(json.dumps([parts[number].pop(0), {"crashed": "the process ended"}]), file=file)
            if parts[number]:
                running[number] = _start(out, number, parts[number])
        time.sleep(0.2)
    lines = [line for number in range(CHILDREN) for line in out.with_suffix(f".{number}").read_text().splitlines()]
    found = {name: summary(said) for name, said in sorted(json.loads(line) for line in lines)}
    rows = [f"{name}: {flow(said)}" for name, said in found.items() if said]
    head = f"# Measured with torch {torch.__version__} on {torch.cuda.get_device_name()} by on_gpu.py, which says what the words mean."
    out.write_text("\n".join([head, *rows]) + "\n")


def _start(out: Path, number: int, wanted: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, str(out.with_suffix(f".{number}")), *wanted])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(sys.argv[2:], Path(sys.argv[1]))
    main(Path(sys.argv[1]))
