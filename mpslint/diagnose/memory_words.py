"""The arithmetic of an out-of-memory text as sentences (`says:` in `rules/platform/out_of_memory.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mpslint.diagnose import out_of_memory as oom
from mpslint.diagnose.sizes import MIB, format_bytes


def evidence(memory: oom.OutOfMemory) -> tuple[str, ...]:
    """Return the sentences that the numbers support, in the order to read them."""
    return tuple(_sentences(memory, oom.sentences()))


def _sentences(memory: oom.OutOfMemory, says: Mapping[str, str]) -> Iterator[str]:
    numbers = memory.numbers
    allocated = numbers.allocated if "allocated" not in memory.impossible else None
    request = numbers.request if "request" not in memory.impossible else None
    if memory.impossible:
        values = ", ".join(str(getattr(numbers, name)) for name in memory.impossible)
        names = ", ".join(says["limit_name" if name == "limit" else name] for name in memory.impossible)
        yield says["impossible"].format(names=names, values=values)
    if allocated and memory.other_share is not None:
        share = f"{memory.other_share:.0%}".replace("%", " %")
        yield says["held"].format(allocated=allocated, other=numbers.other, share=share)
    elif allocated:
        yield says["held_by_tensors"].format(allocated=allocated)
    if allocated and "limit" not in memory.impossible and (memory.verdict != oom.NO_GPU or memory.virtual):
        yield _limit(memory, says)
        if memory.numbers.limit and memory.verdict in {oom.GROWTH, oom.TOO_BIG, oom.MIXED}:
            yield says["limit_in_force"]
    if request and memory.verdict == oom.GIANT:
        yield says["request_large"].format(request=request)
    elif request and request.bytes <= MIB and memory.verdict not in {oom.NO_GPU, oom.LOW_LIMIT}:
        yield says["request_small"].format(request=request)
    if memory.beside:
        yield says["beside"].format(verdict=memory.beside.replace("-", " "))
    if memory.torch.terms:
        yield says["torch"].format(torch=memory.torch)


def _limit(memory: oom.OutOfMemory, says: Mapping[str, str]) -> str:
    """Return the sentence on the limit: which Mac it belongs to, or why that cannot be told."""
    if memory.numbers.limit is None or memory.working_set is None:
        return says["limit_off"]
    fields = {"limit": memory.numbers.limit, "working_set": format_bytes(memory.working_set), "ratio": memory.ratio}
    if memory.verdict == oom.NO_GPU:
        return says["limit_virtual"].format(**fields)
    if memory.verdict == oom.LOW_LIMIT:
        return says["limit_low"].format(**fields)
    if not memory.macs:
        return says["limit_unknown_mac"].format(**fields)
    default = all(guess.ratio == memory.ratio for guess in memory.macs)
    macs = " or ".join(
        says["mac" if default else "mac_with_ratio"].format(memory=guess.mac.memory, macos=guess.mac.macos, ratio=f"{guess.ratio:g}")
        for guess in memory.macs
    )
    return says["limit" if default else "limit_other_ratio"].format(macs=macs, **fields)
