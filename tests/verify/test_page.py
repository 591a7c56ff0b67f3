"""The page in a real browser: it fits a phone, has its curves, and changes with the colour scheme."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpslint.session.view import ShownFinding
from mpslint.source.document import Place
from mpslint.verify.outcome import Backing, Check, Composition, RunResult, StepRecord, Verdict
from mpslint.verify.page import as_page
from mpslint.verify.reading import FileReading
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from tests import LONG

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=2000",
)  # fmt: skip
PROBE = """<script>addEventListener('load', () => {
const curve = document.querySelector('polyline.c0'), box = curve.getBoundingClientRect();
document.title = ['RESULT', innerWidth, document.documentElement.scrollWidth, document.querySelectorAll('svg').length,
  Math.round(box.width), getComputedStyle(document.body).backgroundColor, getComputedStyle(curve).stroke].join('|');
  });</script>"""
FINDING = ShownFinding(
    "MPS101", "fp16-mixed-precision", "error", "z" * 90, "", Place(7, 1, 12), Place(7, 10, 12), (0, 9), "fp16=True",
    ((7, "fp16=True"),), (0, 9), (), "", "fp16=False", "safe",
)  # fmt: skip
READING = FileReading(
    "Trainer (trainer) at cell 15, line 1", "torch 2.15", ("lengths are drawn",),
    (FINDING,),
    (), (), (("cell 12", ("@@ -1 +1 @@", "-" + "x" * 200, "+fp16=False")),),
)  # fmt: skip

browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


def page() -> str:
    """Return the page of two runs, long words included, with a probe that writes what the browser made of it into the
    title."""
    steps = tuple(
        StepRecord(
            n,
            live=2**30,
            peak=2**31 + n * 2**20,
            driver=2**32 + n * 2**24,
            new_keys=9,
            new_graph_keys=n % 5,
            loss=3 / n,
        )
        for n in range(1, 101)
    )
    runs = tuple(
        RunResult(name, "emulated", steps, Composition(2**31, "forward", {"weights": 2**30}), largest_peak=2**31)
        for name in ("as written", "as rewritten")
    )
    check = Check("driver memory", "fail", "x" * 90 + " grows", (Backing("highest", "y" * 90),), line="a/very/long/path/" * 6)
    verdicts = tuple(Verdict(run.name, "fail", "", (check,)) for run in runs)
    return as_page([VerifyReport("a/" * 60 + "train.ipynb", VerifiedMac(), runs, verdicts, reading=READING)]) + PROBE


def opened(folder: Path, width: int, *more: str) -> list[str]:
    """Return what the probe wrote in a window of some width."""
    (folder / "page.html").write_text(page(), encoding="utf-8")
    frame = f'<iframe src="page.html" style="border:0;width:{width}px;height:3000px"></iframe>'
    relay = "<script>onload=()=>{setTimeout(()=>{document.title=frames[0].document.title},300)}</script>"
    (folder / "frame.html").write_text(f"<!doctype html>{frame}{relay}", encoding="utf-8")
    command = [
        str(BROWSER),
        *FLAGS,
        *more,
        f"--user-data-dir={folder / 'profile'}",
        "--allow-file-access-from-files",
        "--dump-dom",
    ]
    shown = subprocess.run([*command, (folder / "frame.html").as_uri()], capture_output=True, text=True, timeout=LONG, check=True).stdout
    found = re.search(r"<title>RESULT\|(.*?)</title>", shown)
    assert found, shown[:500]
    return found.group(1).split("|")


@browser
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_fits_its_window(tmp_path: Path, width: int) -> None:
    """Nothing is wider than the window, from a phone to a desk; every curve is drawn."""
    inner, scroll, pictures, curve, *_ = opened(tmp_path, width)

    assert int(inner) == width
    assert int(scroll) <= width
    assert int(pictures) == 5
    assert int(curve) > 0.55 * min(width, 480)


@browser
def test_the_page_follows_the_colour_scheme(tmp_path: Path) -> None:
    """Paper and curves are other ones in the dark."""
    light, dark = tmp_path / "light", tmp_path / "dark"
    for folder in (light, dark):
        folder.mkdir()
    *_, paper, ink = opened(light, 800)
    *_, dark_paper, dark_ink = opened(dark, 800, "--blink-settings=preferredColorScheme=0")

    assert (paper, dark_paper) == ("rgb(255, 255, 255)", "rgb(20, 23, 26)")
    assert ink != dark_ink
