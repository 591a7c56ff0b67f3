"""Check many files: from the cache what has not changed, on all cores what is much, one after the other what is little."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mpslint.core.collection import collect_if_due, collected_when_due
from mpslint.core.finding import MpslintError
from mpslint.core.inert import inert
from mpslint.core.notices import forget, notice, taken
from mpslint.core.signals import SIGNALS, signals_later
from mpslint.project.run import full_path
from mpslint.session.runs import check_unit
from mpslint.session.session import FileResult, Options, check_file
from mpslint.session.units import FilesTogether, graph_of, units_of
from mpslint.session.view import FileView, view
from mpslint.source.files import STANDARD_INPUT, FoundFile

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from mpslint.session.cache import FindingsCache

ENOUGH_BYTES = 5_000_000
"""Below this much text a pool of processes costs more than it saves."""
CHUNK_BYTES = 500_000
MOST_IN_CHUNK = 20
"""Files of a chunk, however short: progress moves by chunks."""
SECONDS_BETWEEN_LOOKS = 0.5
"""Between two looks of a worker whether its parent lives."""

MOST_NAMED = 3
"""Entries that a line about their runs names."""
POLL_SECONDS = 0.25
"""How often whoever waits for other processes is told that time has passed."""

Chunk = list[FilesTogether]
Taken = TypeVar("Taken")
View = Callable[[FileResult], FileView]
"""What is taken of the result of a file."""
Advance = Callable[[int], None]
"""Told how many more files are done; 0 only says that time has passed."""


def check_files(
    files: Sequence[FoundFile],
    options: Options,
    jobs: int | None = None,
    cache: FindingsCache | None = None,
    take: View = view,
    advance: Advance = lambda count: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[FileView]:
    """Yield what came out of each file, in the order given, and as `take` (a function of a module) sees it.

    `jobs` is the number of processes; by default one per core where there is work enough. `advance` is told of each file that is done, in
    whatever order, `tell` why one process has to do for all. Raises UsageError when options or configuration are wrong.
    """
    known: dict[int, FileView] = {}
    if cache is not None:
        cache.note_files(files)
        for index, found in enumerate(files):
            if (hit := cache.lookup(found)) is not None:
                known[index] = hit
    units: list[FilesTogether] = []
    if len(known) < len(files):
        graph = graph_of(files, options)
        if cache is not None:  # of a file that a changed one imports now, other runs speak than before
            around = {index: graph.files_around(full_path(files[index].path)) for index in known}
            known = {index: hit for index, hit in known.items() if cache.rests_on(files[index], around[index])}
        units = units_of(graph, [(index, found) for index, found in enumerate(files) if index not in known])
    waiting = [pair for unit in units for pair in unit.files]
    advance(len(known))
    reads = {index: unit.reads.get(index, ()) for unit in units for index, _ in unit.files}
    if _is_much(waiting, jobs):
        fresh = _in_parallel(units, options, jobs, take, advance, tell)
    else:
        fresh = _one_by_one(units, options, take, advance)
    done: dict[int, FileView] = {}
    of_run: set[tuple[str, str]] = set()
    for index in range(len(files)):
        while index not in known and index not in done:
            number, result = next(fresh)
            done[number] = result
            if cache is not None:
                cache.store(files[number], result, reads[number])
        yield without_repeats(known[index] if index in known else done.pop(index), of_run)


def without_repeats(file: FileView, said: set[tuple[str, str]]) -> FileView:
    """Return what came out of a file without the findings about the environment that an earlier file has, which are added to `said`."""
    of_run = [finding for finding in file.findings if finding.is_of_run]
    repeated = [finding for finding in of_run if (finding.rule, finding.message) in said]
    said.update((finding.rule, finding.message) for finding in of_run)
    if not repeated:
        return file
    return replace(file, findings=tuple(one for one in file.findings if one not in repeated))


def each_taken(files: Sequence[FoundFile], options: Options, take: Callable[[FileResult], Taken]) -> list[Taken]:
    """Return what is taken of the result of each file, checked with the runs around it; of the result itself nothing may be kept."""
    units = units_of(graph_of(files, options), list(enumerate(files)))
    return [taken for _, taken in sorted(_one_by_one(units, options, take), key=lambda pair: pair[0])]


def _one_by_one(
    units: Iterable[FilesTogether], options: Options, take: Callable[[FileResult], Taken], advance: Advance = lambda count: None
) -> Iterator[tuple[int, Taken]]:
    """Yield what is taken of the result of each file, one unit after the other; of the result itself nothing may be kept."""
    with collected_when_due():
        for unit in units:
            for index, taken in _checked(unit, options, take):
                advance(1)
                yield index, taken


def _checked(unit: FilesTogether, options: Options, take: Callable[[FileResult], Taken]) -> Iterator[tuple[int, Taken]]:
    """Yield what is taken of the results of the files of a unit.

    A mistake of mpslint itself in a run is said on standard error, and costs what the run says of its files; one in a file costs that file.
    """
    if unit.entries:
        try:
            taken = []
            for index, result in check_unit(unit, options):
                taken.append((index, _taken(result, take)))
                del result  # before the collector runs, which sets aside for good what it finds in use
                collect_if_due()
        except MpslintError:
            raise
        except Exception as error:  # a mistake of mpslint's own costs what this run says; its files are checked alone
            entries = ", ".join(os.path.relpath(one.launch or one.script) for one in unit.entries[:MOST_NAMED])
            more = f" and {len(unit.entries) - MOST_NAMED} more" if len(unit.entries) > MOST_NAMED else ""
            problem = f"runs of {entries}{more} not read: a mistake in mpslint ({mistake(error)}); each file is checked by itself"
            with contextlib.suppress(OSError):
                print(f"mpslint: {inert(problem)}", file=sys.stderr)
        else:
            yield from taken
            return
    for index, found in unit.files:
        alone = _taken(_checked_alone(found, options), take)
        collect_if_due()
        yield index, alone


def _taken(result: FileResult, take: Callable[[FileResult], Taken]) -> Taken:
    """Return what is taken of a result; what was walked for it is given back."""
    taken = take(result)
    for one in result.checked.evidence if result.checked is not None else ():
        one.facts.release()
    return taken


def _checked_alone(found: FoundFile, options: Options) -> FileResult:
    """Return what came out of a file; a mistake of mpslint itself costs that file, and no other."""
    try:
        return check_file(found, options)
    except MpslintError:
        raise
    except Exception as error:  # the same, of one file
        return FileResult(found.path, problem=mistake_in(found.path, error))


def mistake_in(path: str, error: Exception) -> str:
    """Return the one line that says that mpslint itself went wrong over a file, and what to do."""
    import shlex

    send = f"`mpslint report {shlex.quote(path)}` prints what to send"
    return f"{path}: not checked, because of a mistake in mpslint ({mistake(error)}); {send}"


def mistake(error: Exception) -> str:
    """Return what went wrong inside mpslint, and where, on one line.

    Raises KeyboardInterrupt if that is what went wrong: before 3.12, Python wraps what ends a class's `__set_name__` in a RuntimeError.
    """
    import traceback

    if isinstance(error.__cause__, KeyboardInterrupt):
        raise error.__cause__
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return f"{what}; {Path(last.filename).name}:{last.lineno}"


def _is_much(waiting: Sequence[tuple[int, FoundFile]], jobs: int | None) -> bool:
    if jobs == 1 or (jobs is None and (os.cpu_count() or 1) < 2):
        return False
    return sum(_size(found) for _, found in waiting) > (0 if jobs is not None else ENOUGH_BYTES) and len(waiting) > 1


def _size(found: FoundFile) -> int:
    try:
        return os.stat(found.path).st_size if not found.problem and found.path != STANDARD_INPUT else 0
    except OSError:
        return 0


def _in_parallel(
    units: Sequence[FilesTogether], options: Options, jobs: int | None, take: View, advance: Advance, tell: Callable[[str], None]
) -> Iterator[tuple[int, FileView]]:
    """Yield results as they come."""
    chunks = _chunks(units)
    light = replace(options, stdin=options.stdin if any(found.path == STANDARD_INPUT for unit in units for _, found in unit.files) else b"")
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    others = set(multiprocessing.active_children())
    left = {index for unit in units for index, _ in unit.files}
    try:
        pool, pending = _started(min(jobs or os.cpu_count() or 1, len(chunks)), chunks, light, take)
    except (OSError, ImportError, RuntimeError) as error:  # no process, thread, file handle or semaphore is to be had
        tell(f"checking in one process: {getattr(error, 'strerror', None) or error}")
        yield from _one_by_one(units, options, take, advance)
        return
    try:
        while pending:
            done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
            results = [pair for future in done for pair in future.result()[0]]
            for about, line in [pair for future in done for pair in future.result()[1].items()]:
                notice(about, line) if line else forget(about)
            advance(len(results))
            for index, result in results:
                left.remove(index)
                yield index, result
    except BrokenProcessPool:  # a worker was killed, as by a lack of memory: what is left is done here, one by one
        rest = [replace(unit, files=tuple(pair for pair in unit.files if pair[0] in left)) for unit in units]
        yield from _one_by_one([unit for unit in rest if unit.files], options, take, advance)
    except BaseException:  # Ctrl-C, SIGTERM: what the workers are at is wanted no more
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(units: Sequence[FilesTogether]) -> list[Chunk]:
    """Return units in chunks of about the same size, the largest units first."""
    sizes = {id(unit): sum(_size(found) for _, found in unit.files) for unit in units}
    chunks: list[Chunk] = []
    size = CHUNK_BYTES
    for unit in sorted(units, key=lambda unit: -sizes[id(unit)]):
        if size >= CHUNK_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(unit)
        size += max(sizes[id(unit)], CHUNK_BYTES // MOST_IN_CHUNK)
    return chunks


def _started(number: int, chunks: Sequence[Chunk], options: Options, take: View) -> tuple[ProcessPoolExecutor, set[Future[Any]]]:
    """Return a pool of processes that work on chunks, and what each will give. Raises OSError, ImportError or RuntimeError.

    A process that is not a copy of this one begins as `python -c`, which looks for modules in its current folder first: that folder may
    be a stranger's and hold a `multiprocessing.py`, so processes begin elsewhere and come here once they run.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    here, before = os.getcwd(), multiprocessing.active_children()
    method = multiprocessing.get_start_method()
    is_copied = method == "fork"
    try:
        if not is_copied:
            os.chdir(sys.prefix)
        with signals_later():  # what a handler raises while Python calls its own hooks behind a fork is printed and forgotten
            pool = ProcessPoolExecutor(number, initializer=_begin, initargs=(here, 0 if method == "forkserver" else os.getpid()))
            return pool, {pool.submit(_check_chunk, chunk, options, take) for chunk in chunks}
    except (OSError, ImportError, RuntimeError):
        for child in multiprocessing.active_children():
            if child not in before:
                child.terminate()
        raise
    finally:
        if not is_copied:
            os.chdir(here)


def _begin(folder: str, parent: int) -> None:
    """Set up a worker, whose paths count from a folder: a signal ends it at once and without a word, for the process `parent` says what
    there is to say; so does the parent's end.

    The parent says its number, for one that was killed a moment ago isn't `os.getppid()` any more; 0 stands for the server that
    forks, which ends with it.
    """
    import threading

    os.chdir(folder)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_watch, args=(parent or os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    """End this worker when its parent has ended, even by SIGKILL: nobody reads its results any more."""
    import time

    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def _check_chunk(chunk: Chunk, options: Options, take: View) -> tuple[list[tuple[int, FileView]], Mapping[str, str]]:
    """Return the results of a chunk, and what was passed over for them."""
    return list(_one_by_one(chunk, options, take)), taken()
