"""The published points, the constants fitted to them, and the page that shows both belong together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpslint.core.knowledge import parse_yaml_file
from mpslint.estimate.timing import constants, ends, named_chips

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "step-time.md").read_text(encoding="utf-8")
GROUPS = parse_yaml_file(ROOT / "benchmarks" / "step_time_points.yaml")
POINTS = [point for group in GROUPS for point in group["points"]]


def test_points_are_of_chips_that_exist() -> None:
    """Each point has a source, a chip of the table with that many cores, and a use that the benchmark knows."""
    assert all(group["source"] for group in GROUPS)
    for point in POINTS:
        assert point["cores"] in {chip.cores for chip in named_chips(point["chip"])}, point
        assert point["use"] in ("fit", "early", "loose")
        assert point["said"]


def test_the_page_shows_every_point() -> None:
    """No point is left off the page, whatever its residual."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 10]

    assert len(rows) - 2 == len(POINTS)


def test_shipped_constants_are_the_fitted_ones() -> None:
    """What `--estimate` computes with is what the page says was fitted."""
    fitted = {
        name: float(value)
        for name, value in re.findall(r"(\w+) (\d+(?:\.\d+)?(?:e-\d+)?)", PAGE.split("## Constants")[1].split("## Points")[0])
    }
    shipped = constants()

    for kind in ("matmul", "attention", "convolution", "depthwise"):
        assert shipped.efficiency[kind] == pytest.approx(fitted[kind], rel=0.02)
    assert (shipped.share, shipped.launch, shipped.fixed) == pytest.approx(
        [fitted[name] for name in ("share", "launch", "fixed")], rel=0.02
    )


@pytest.mark.parametrize(("name", "row"), [("usual", "covered: the usual range holds"), ("wide", "not covered: the wide range holds")])
def test_printed_ranges_hold_the_measured_spread(name: str, row: str) -> None:
    """The range is no narrower than the 5th to 95th percentile that was measured."""
    cells = next(line for line in PAGE.splitlines() if line.startswith(f"| {row}")).split("|")
    low, high = map(float, cells[-2].split(" to "))
    least, most = ends(name, 1.0)

    assert least <= low
    assert high <= most
