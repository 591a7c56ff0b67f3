"""A project of a stranger, with every form of link beside its script: those that lead out of it, and those that stay."""

from __future__ import annotations

import os
from pathlib import Path

PATHS_OUT = {
    "a link to a file": "file",
    "a link to a folder": "folder/file",
    "a link to the root": "root{OTHER}/file",
    "a link to a folder above": "above/other/file",
    "a relative link": "relative",
    "a relative link to the folder above": "up/../other/file",
    "a relative link through the project": "winding",
    "a link to a link": "chain",
    "a link to a link to a folder": "folders/file",
    "a link to a link to the root": "roots{OTHER}/file",
    "a link out and in again": "around/../../other/file",
    "a link in a subfolder": "sub/file",
    "a link to a folder in a subfolder": "sub/folder/file",
    "a link to the root in a subfolder": "sub/root{OTHER}/file",
    "a link to a link in a subfolder": "through",
    "a link to a hidden file of the project": "environment",
    "a link to a hidden folder of the project": "repository/config",
    "a link to a file in a hidden folder": "setting",
    "a link to a hidden file through a subfolder": "deep",
    "a link to the folder of the script": "self/.env",
    "a link to the folder of the project": "whole/.env",
    "a link to a folder whose name begins as the project's": "twin/file",
    "a link in a loop": "loop",
}
"""A path by which each link would reach what holds the secret; `{OTHER}` is the folder that lies beside the project."""

PATHS_IN = ("inside", "shared", "chained", "data/x.csv", "deeper", "sub/plain")
"""Paths through links that stay in the project, and one without a link."""


def build(place: Path, secret: str) -> tuple[Path, Path]:
    """Make the project below a folder, and what is not its own; return the project, and the folder of its script in it."""
    project, other = place / "project", place / "other"
    script = project / "train"
    for folder in (script / "sub", script / ".git", script / ".env.d", project / "data", other, place / "project-twin"):
        folder.mkdir(parents=True)
    for path in (
        other / "file",
        place / "project-twin/file",
        script / ".env",
        project / ".env",
        script / ".git/config",
        script / ".env.d/a",
    ):
        path.write_text(secret)
    for path in (project / "requirements.txt", script / "train.py", script / "plain", script / "sub/plain", project / "data/x.csv"):
        path.write_text("open")
    for link, target in {
        "file": other / "file", "folder": other, "root": "/", "above": place, "relative": "../../other/file", "up": "..",
        "winding": "sub/../../data/../../other/file", "chain": "file", "folders": "folder", "roots": "root",
        "around": "../../project/train/sub", "sub/file": other / "file", "sub/folder": "../../../other", "sub/root": "/",
        "through": "sub/file", "environment": ".env", "repository": ".git", "setting": ".env.d/a", "deep": "sub/../.env", "self": ".",
        "whole": project, "twin": place / "project-twin", "loop": "loop", "loops": "pool", "pool": "loops",
        "inside": "plain", "shared": "../data/x.csv", "chained": "inside", "data": "../data", "deeper": script / "sub/plain",
    }.items():  # fmt: skip
        os.symlink(target, script / link)
    return project, script
