"""A project for the tests of the cache, and what asks it as the command does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mpslint.core import folders, knowledge
from mpslint.core.own_folder import OwnFolder
from mpslint.session.cache import FileKeys, FindingsCache
from mpslint.session.running import check_files
from mpslint.session.session import Options, files_of
from mpslint.session.view import FileView

BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"
FIXED = BAD.replace("fp16=True", "fp16=False")
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": BAD, "metadata": {}, "outputs": []},
            {"cell_type": "code", "source": "x = (", "metadata": {}},
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
)
FOLDER = ".mpslint_cache"
"""Where these tests keep the cache: a folder that a check passes by."""
SAMPLES = Path(__file__).parents[2] / "samples"


def forget() -> None:
    """A new process remembers no configuration, no pins and no rules."""
    folders.forget_disk()
    knowledge.knowledge_digest.cache_clear()


def looked_up(paths: Sequence[str] = (".",), options: Options | None = None, folder: str = FOLDER) -> list[FileView | None]:
    """What a run that begins now finds in the cache, by file in order."""
    forget()
    options = options or Options()
    cache = FindingsCache(OwnFolder(Path(), (folder,)), FileKeys(options).of)
    cache.load()
    files = list(files_of(paths, options))
    cache.note_files(files)
    return [cache.lookup(found) for found in files]


def run(paths: Sequence[str] = (".",), options: Options | None = None, folder: str = FOLDER) -> list[FileView]:
    """Check with the cache, as the command does."""
    forget()
    options = options or Options()
    cache = FindingsCache(OwnFolder(Path(), (folder,)), FileKeys(options).of)
    cache.load()
    views = list(check_files(list(files_of(paths, options)), options, 1, cache))
    cache.save()
    return views
