"""Check many files: from the cache what has not changed, on all cores what is much, one after the other what is little."""

from __future__ import annotations

import functools
import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.finding import MpslintError
from mpslint.session import FileResult, Options, check_file
from mpslint.source.files import STANDARD_INPUT, Found
from mpslint.view import FileView, view

if TYPE_CHECKING:
    from mpslint.cache import Cache

ENOUGH_BYTES = 5_000_000
"""Below this much text a pool of processes costs more than it saves."""
CHUNK_BYTES = 500_000
OBJECTS_BETWEEN_COLLECTIONS = 30_000
"""New objects after which the collector of cycles runs: few enough to be near at hand still, a long script's worth."""

View = Callable[[FileResult], FileView]
"""What is taken of the result of a file."""


def check_files(
    files: Sequence[Found], options: Options, jobs: int | None = None, cache: Cache | None = None, take: View = view
) -> Iterator[FileView]:
    """Yield what came out of each file, in the order given, and as `take` (a function of a module) sees it.

    `jobs` is the number of processes; by default one per core where there is work enough, one under pre-commit, which brings its own.
    Raises UsageError when options or configuration are wrong.
    """
    known: dict[int, FileView] = {}
    if cache is not None:
        for index, found in enumerate(files):
            hit = cache.lookup(found)
            if hit is not None:
                known[index] = hit
    waiting = [(index, found) for index, found in enumerate(files) if index not in known]
    fresh = _in_parallel(waiting, options, jobs, take) if _is_much(waiting, jobs) else _one_by_one(waiting, options, take)
    done: dict[int, FileView] = {}
    for index in range(len(files)):
        while index not in known and index not in done:
            number, result = next(fresh)
            done[number] = result
            if cache is not None:
                cache.store(files[number], result)
        yield known[index] if index in known else done.pop(index)


def _one_by_one(waiting: Sequence[tuple[int, Found]], options: Options, take: View) -> Iterator[tuple[int, FileView]]:
    """Yield results one after the other."""
    views = _check_each((found for _, found in waiting), options, take)
    return zip((index for index, _ in waiting), views, strict=True)


def _check_each(files: Iterable[Found], options: Options, take: View) -> Iterator[FileView]:
    """Yield what is taken of the result of each file, one after the other; of the result itself nothing may be kept.

    Syntax trees are many small objects: the collector of cycles runs when there is something to collect, and what outlives a collection
    (the rules, the dialects) stays, so the next one does not look at it again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for found in files:
            result = _checked(found, options)
            yield take(result)
            for one in result.checked.evidence if result.checked is not None else ():
                one.facts.release()
            del result
            if gc.get_count()[0] > OBJECTS_BETWEEN_COLLECTIONS:
                gc.collect()
                gc.freeze()
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _checked(found: Found, options: Options) -> FileResult:
    """Return what came out of a file; a mistake of mpslint itself costs that file, and no other."""
    try:
        return check_file(found, options)
    except MpslintError:
        raise
    except Exception as error:
        return FileResult(found.path, problem=mistake_in(found.path, error))


def mistake_in(path: str, error: Exception) -> str:
    """Return the one line that says that mpslint itself went wrong over a file, and what to do."""
    import shlex
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    where = f"{Path(last.filename).name}:{last.lineno}"
    send = f"`mpslint report {shlex.quote(path)}` prints what to send"
    return f"{path}: not checked, because of a mistake in mpslint ({what}; {where}); {send}"


def _is_much(waiting: Sequence[tuple[int, Found]], jobs: int | None) -> bool:
    if jobs == 1 or (jobs is None and (os.environ.get("PRE_COMMIT") or (os.cpu_count() or 1) < 2)):
        return False
    return sum(_size(found) for _, found in waiting) > (0 if jobs is not None else ENOUGH_BYTES) and len(waiting) > 1


def _size(found: Found) -> int:
    try:
        return os.stat(found.path).st_size if not found.problem and found.path != STANDARD_INPUT else 0
    except OSError:
        return 0


def _in_parallel(waiting: Sequence[tuple[int, Found]], options: Options, jobs: int | None, take: View) -> Iterator[tuple[int, FileView]]:
    """Yield results as they come: chunks of about the same size, the largest files first."""
    ordered = sorted(waiting, key=lambda pair: -_size(pair[1]))
    chunks: list[list[tuple[int, Found]]] = []
    size = CHUNK_BYTES
    for pair in ordered:
        if size >= CHUNK_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(pair)
        size += max(_size(pair[1]), CHUNK_BYTES // 100)
    light = replace(options, stdin=options.stdin if any(found.path == STANDARD_INPUT for _, found in waiting) else b"")
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    pool = ProcessPoolExecutor(min(jobs or os.cpu_count() or 1, len(chunks)), initializer=_end_on_interrupt)
    left = dict(ordered)
    try:
        for results in pool.map(functools.partial(_check_chunk, options=light, take=take), chunks):
            for index, result in results:
                del left[index]
                yield index, result
    except BrokenProcessPool:  # a worker was killed, as by a lack of memory: what is left is done here, one by one
        yield from _one_by_one(list(left.items()), options, take)
    finally:
        pool.shutdown(cancel_futures=True)


def _end_on_interrupt() -> None:
    """Ctrl-C ends a worker at once and without a word: the parent says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _check_chunk(chunk: list[tuple[int, Found]], options: Options, take: View) -> list[tuple[int, FileView]]:
    return list(_one_by_one(chunk, options, take))
