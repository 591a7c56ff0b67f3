"""How near the estimate of `mpslint plan --estimate` is to published step times, each source estimated without its own points.

    python benchmarks/step_time.py            prints the residuals and the fitted constants (a minute)
    python benchmarks/step_time.py --write    also writes docs/step-time.md

The constants in rules/platform/step_time.yaml are those printed under "all sources". Exits 1 when the file holds others.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from step_models import workload

from mpslint.core.knowledge import parse_yaml_file, platform_data
from mpslint.core.versions import Version, parse_version
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import Chip, Constants, constants, named_chips, seconds_by_part, step_time

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "step-time.md"
EFFICIENCIES = ("matmul", "attention", "convolution", "depthwise")
PRIOR = {
    "matmul": (0.7, 0.3),
    "attention": (0.5, 0.4),
    "convolution": (0.5, 0.3),
    "depthwise": (0.02, 1.0),
    "share": (0.6, 0.3),
    "launch": (1.2, 0.4),
    "fixed": (0.003, 0.7),
    "older": (0.85, 0.3),
}
"""What was guessed before any fit, and how far in logarithms a constant may go from it: the points determine few of them alone."""
PULL = 0.1
BEND = 0.4
"""Residuals count squared up to here and linearly beyond, in logarithms: a point that is far off is wrong about something else."""


@dataclass(frozen=True)
class Published:
    """One published step time with the work of its program."""

    source: str
    name: str
    chip: Chip
    torch: Version
    seconds: float
    said: str
    use: str
    work: StepWork


@dataclass(frozen=True)
class Residual:
    """A point, what was estimated for it without its source, and why the range was wide."""

    point: Published
    estimated: float
    wide: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Measured over estimated."""
        return self.point.seconds / self.estimated

    @property
    def factor(self) -> float:
        """By what factor the estimate is off, whichever way."""
        return max(self.ratio, 1 / self.ratio)


def published(path: Path = Path(__file__).parent / "step_time_points.yaml") -> list[Published]:
    """Return all points, the work of each program counted once; a point of `mpslint report --measurement` brings its own."""
    works: dict[str, StepWork] = {}
    found = []
    for group in parse_yaml_file(path):
        for row in group["points"]:
            name = row.get("workload", f"measured on {row['chip']}")
            if "work" in row:
                works[name] = measured_work(row)
            elif name not in works:
                works[name] = workload(name)
            chip = next(chip for chip in named_chips(row["chip"]) if chip.cores == row["cores"])
            version = parse_version(row["torch"])
            assert version is not None
            found.append(Published(group["source"], name, chip, version, row["seconds"], row["said"], row["use"], works[name]))
    return found


def measured_work(row: Mapping[str, Any]) -> StepWork:
    """Return the work that a measurement counts, by kind: as many operators as it says, all of one kind alike."""
    operators = [
        Operators(one["kind"], one["part"], one["dtype"], one["flop"] / one["count"], one["moved"] / one["count"], one["count"])
        for one in row["work"]
    ]
    return StepWork(tuple(operators), samples=1, waits=row["waits"])


def with_values(values: Mapping[str, float]) -> Constants:
    """Return the shipped constants with fitted values."""
    base = constants()
    efficiency = {**base.efficiency, **{kind: values[kind] for kind in EFFICIENCIES}}
    return dataclasses.replace(
        base,
        efficiency=efficiency,
        share=values["share"],
        launch=values["launch"],
        fixed=values["fixed"],
        older_factor=values["older"],
    )


def loss(values: Mapping[str, float], points: Sequence[Published]) -> float:
    """Return how far the model is from the points, each source weighing the root of its number of points."""
    model, total = with_values(values), 0.0
    rows: dict[str, int] = {}
    for point in points:
        rows[point.source] = rows.get(point.source, 0) + 1
    for point in points:
        estimated = sum(seconds_by_part(point.work, point.chip, model, point.torch).values())
        off = abs(math.log(estimated / point.seconds))
        total += (off * off if off < BEND else 2 * BEND * off - BEND**2) / math.sqrt(rows[point.source])
    return total + PULL * sum((math.log(values[name] / guess) / width) ** 2 for name, (guess, width) in PRIOR.items())


def fitted(points: Sequence[Published]) -> dict[str, float]:
    """Return the constants that fit the points best: one after the other up or down, in smaller and smaller steps."""
    values = {name: guess for name, (guess, _) in PRIOR.items()}
    best, step = loss(values, points), 0.3
    while step > 0.02:
        has_moved = False
        for name, way in itertools.product(values, (step, -step)):
            tried = {**values, name: values[name] * math.exp(way)}
            found = loss(tried, points)
            if found < best - 1e-6:
                values, best, has_moved = tried, found, True
        if not has_moved:
            step /= 2
    return values


def residuals(points: Sequence[Published]) -> list[Residual]:
    """Return the residual of each point under constants that were fitted without its source."""
    used = [point for point in points if point.use == "fit"]
    found = []
    for source in dict.fromkeys(point.source for point in points):
        model = with_values(fitted([point for point in used if point.source != source]))
        for point in points:
            if point.source == source:
                time = step_time(point.work, point.chip, point.torch, model)
                found.append(Residual(point, time.seconds, time.wide))
    return found


def quantile(values: Iterable[float], share: float) -> float:
    """Return a quantile, between neighbours by their distance."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def pairs(found: Sequence[Residual]) -> list[tuple[Residual, Residual, float]]:
    """Return each two Macs that ran one program with one torch, and by what factor their estimated ratio is off."""
    made = []
    for one, two in itertools.combinations(found, 2):
        same = one.point.name == two.point.name and one.point.source == two.point.source and one.point.chip != two.point.chip
        if same and one.point.torch == two.point.torch and one.point.use == two.point.use == "fit":
            off = one.ratio / two.ratio
            made.append((one, two, max(off, 1 / off)))
    return made


def far_pairs(found: Sequence[Residual], bound: float = 1.3) -> list[str]:
    """Return a paragraph on the pairs whose ratio is farther off, and on the one point that is in all of them, if there is one."""
    made = pairs(found)
    far = [{id(one): one, id(two): two} for one, two, off in made if off > bound]
    common = set.intersection(*map(set, far)) if far else set()
    if len(common) != 1:
        return []
    (key,) = common
    point = far[0][key].point
    rest = [off for one, two, off in made if key not in (id(one), id(two))]
    near, version = sum(off <= bound for off in rest), ".".join(map(str, point.torch))
    return [
        f"All {len(far)} pairs beyond {bound:g}x have one point in common: {point.name} on {point.chip.name}, torch {version}",
        f"({point.source}: {point.said}).",
        f"Of the {len(rest)} pairs without it {near} are within {bound:g}x, and the worst is {max(rest):.2f}x off.",
        "One measurement can't say whether that Mac or that build was slow, so it stays in.",
    ]


def _is_new(point: Published) -> bool:
    """Return whether a point is of an M5 or of half precision."""
    return point.chip.generation == "M5" or point.name.split()[0].endswith("-half")


def summary(found: Sequence[Residual]) -> list[tuple[str, int, float, float, float, float, float]]:
    """Return for each group of points: their number, the median factor, the shares within 1.5 and 2, and the 5th and 95th percentile."""
    used = [one for one in found if one.point.use == "fit"]
    groups: list[tuple[str, Callable[[Residual], bool]]] = [
        ("all points that are fitted", lambda one: True),
        ("covered: the usual range holds", lambda one: not one.wide),
        ("not covered: the wide range holds", lambda one: bool(one.wide)),
        ("steps of 0.1 s and more in fp32 on M1 to M4", lambda one: one.point.seconds >= 0.1 and not _is_new(one.point)),
        ("steps of 0.1 s and more", lambda one: one.point.seconds >= 0.1),
        ("steps under 0.1 s", lambda one: one.point.seconds < 0.1),
    ]
    rows = []
    for name, is_in in groups:
        chosen = [one for one in used if is_in(one)]
        factors, ratios = [one.factor for one in chosen], [one.ratio for one in chosen]
        within = [sum(factor <= bound for factor in factors) / len(factors) for bound in (1.5, 2.0)]
        rows.append((name, len(chosen), quantile(factors, 0.5), *within, quantile(ratios, 0.05), quantile(ratios, 0.95)))
    return rows


def page(found: Sequence[Residual], values: Mapping[str, float]) -> str:
    """Return docs/step-time.md."""
    lines = [*_accuracy(found), *_shares(found), "", *NOT_CARRIED, *_constants(values), *_points(found)]
    return "\n".join(lines) + "\n"


NOT_CARRIED = (
    "## What the points don't carry",
    "",
    "- Three sources give half of the rows: VGG-16, BERT and ResNet-50 with DistilBERT. Other programs have one to three rows each.",
    "- Steps under 0.1 s, depthwise convolutions, Ultra chips, M5 and half precision have one to six points each: the range is wide.",
    "- M3 Ultra and M5 Max have none. Their estimates are extrapolations.",
    "- Recurrent layers have none. Where they take most of a step, `--estimate` gives no time; where they take a tenth, a wide range.",
    "- How long a graph takes to compile is known from two first steps only, one a torch generation: half to twice is printed.",
    "- Data loading, evaluation, saving, swapping and throttling aren't estimated.",
    "- For some points cores, torch version or trained parameters aren't stated; the table says what was assumed.",
    "",
)


def _accuracy(found: Sequence[Residual]) -> Iterator[str]:
    """Yield the beginning of the page, and how near the estimates are by kind of step."""
    used = [one for one in found if one.point.use == "fit"]
    yield from (
        "# How near step-time estimates are",
        "",
        "`mpslint plan FILE --estimate` estimates a training step from the work of its operators and from published",
        "measurements of Macs. Nothing was run on a Mac for it. This page compares the estimate with published step times.",
        "`python benchmarks/step_time.py --write` writes it; the points are in `benchmarks/step_time_points.yaml`.",
        "",
        "The programs were rebuilt from their descriptions and recorded on meta tensors. Each source is estimated with",
        f"constants fitted to the other sources only. {len(used)} points of {len({one.point.source for one in used})} sources are fitted.",
        "",
        "| points | number | median factor | within 1.5x | within 2x | measured / estimated, 5th to 95th percentile |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    )
    for name, number, median, half, double, low, high in summary(found):
        yield f"| {name} | {number} | {median:.2f} | {half:.0%} | {double:.0%} | {low:.2f} to {high:.2f} |"


def _shares(found: Sequence[Residual]) -> Iterator[str]:
    """Yield what range is printed, how many points lie in it, and how well the ratio of two Macs is met."""
    table = platform_data("step_time")["spread"]
    usual, wide = (f"{row['low']} to {row['high']} times" for row in (table["usual"], table["wide"]))
    used = [one for one in found if one.point.use == "fit"]
    held = sum((row := table["wide" if one.wide else "usual"])["low"] <= one.ratio <= row["high"] for one in used)
    ratios = [off for _, _, off in pairs(found)]
    near, close = (sum(off <= bound for off in ratios) / len(ratios) for bound in (1.3, 1.5))
    yield from (
        "",
        f"`--estimate` prints {usual} its estimate where points cover a run, and {wide}",
        "where they don't. The first is the spread of the covered points, the second that of the others, rounded outwards.",
        f"{held} of the {len(used)} points lie in their range.",
        "",
        f"Between two Macs that ran the same program, the estimated ratio is within 1.3x for {near:.0%} of {len(ratios)} pairs",
        f"and within 1.5x for {close:.0%}; the worst is {max(ratios):.2f}x off.",
        *far_pairs(found),
    )


def _constants(values: Mapping[str, float]) -> tuple[str, ...]:
    """Return the section of the fitted constants."""
    return (
        "## Constants",
        "",
        "Fitted to all sources, in parts of the chip's measured rates and bandwidth (`rules/platform/step_time.yaml`):",
        "",
        ", ".join(f"{name} {value:.4g}" for name, value in values.items()) + ".",
        "",
    )


def _points(found: Sequence[Residual]) -> Iterator[str]:
    """Yield the table of all points."""
    yield from (
        "## Points",
        "",
        "*use*: fit; early: torch 1.12 and the first 1.13, kept out since kernels were another generation; loose: a",
        "condition isn't stated.",
        "",
        "| program, batch | chip, GPU cores | torch | measured s | estimated s | measured / estimated | use | range | source |",
        "| --- | --- | --- | ---: | ---: | ---: | --- | --- | --- |",
    )
    for one in found:
        point = one.point
        version = ".".join(map(str, point.torch))
        yield (
            f"| {point.name} | {point.chip.name}, {point.chip.cores} | {version} | {point.seconds:.3g} | {one.estimated:.3g} "
            f"| {one.ratio:.2f} | {point.use} | {'wide' if one.wide else 'usual'} | {point.source}: {point.said} |"
        )


def main() -> int:
    """Fit, print and, if asked, write; return 1 when the shipped constants are not the fitted ones."""
    points = published()
    found = residuals(points)
    values = fitted([point for point in points if point.use == "fit"])
    for one in found:
        print(f"{one.point.use:6} {one.point.name:30} {one.point.chip.title:28} {one.ratio:5.2f}  {', '.join(one.wide)}")
    for name, number, median, half, double, low, high in summary(found):
        print(f"{name:36} {number:3}  median {median:.2f}  1.5x {half:.0%}  2x {double:.0%}  {low:.2f} to {high:.2f}")
    offs = [off for _, _, off in pairs(found)]
    print(f"pairs {len(offs)}: median {quantile(offs, 0.5):.2f}, within 1.3 {sum(off <= 1.3 for off in offs) / len(offs):.0%}")
    print("all sources:", {name: float(f"{value:.3g}") for name, value in values.items()})
    if "--write" in sys.argv:
        PAGE.write_text(page(found, values), encoding="utf-8")
    shipped = constants()
    own = {**shipped.efficiency, "share": shipped.share, "launch": shipped.launch, "fixed": shipped.fixed, "older": shipped.older_factor}
    return int(any(abs(own[name] / value - 1) > 0.02 for name, value in values.items()))


if __name__ == "__main__":
    sys.exit(main())
