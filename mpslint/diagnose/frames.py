"""The line of the user's own code in a traceback, whichever of the five ways it is printed in."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mpslint.core.knowledge import platform_data
from mpslint.diagnose.compact import strip_escapes
from mpslint.diagnose.log import Log

_REACH = 40_000
"""How far above an error its traceback may start; the longest seen (Trainer, accelerate, torch) take half of it."""
_GAP = 3_000
"""How far above its error the last frame may stand; more, and the traceback belongs to something else."""
_LINK = 300
"""How far above a traceback the line may stand that chains it to another."""

_START = re.compile(r"Traceback \(most recent call last\)|Stack \(most recent call last\)")
_CHAINED = re.compile(
    r"(?:(?P<handled>During handling of the above exception)|The above exception was the direct cause)[^\n]*"
    r"(?:\s*\[rank\d{1,4}\]:)*\s*(?:[\w.]{1,100}\s{2,})?\Z"  # IPython names the exception in front of its traceback
)
"""What stands between two tracebacks of which the second was raised while the first was handled, or from it."""
_FRAME = re.compile(
    r'(?:File "|^)(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7})'  # Python, also pasted without its first words
    r"|Cell In ?\[(?P<cell>\d{1,6})\], line (?P<cell_line>\d{1,6})"  # IPython 8.5 and later
    r"|Input In \[(?P<input>\d{1,6})\], in <cell line: (?P<input_line>\d{1,6})>"  # IPython 8.0 to 8.4
    r"|<ipython-input-(?P<old>\d{1,6})-\w{1,40}> in |ipykernel_\d{1,9}/\d{1,12}\.py in "  # IPython 7
    r"|^-{1,9}> ?(?P<arrow>\d{1,7}) "
    r"|^(?:File )?(?P<path>[~/.\w][^\s:*?<>|│\"]{0,400}\.py):(?P<path_line>\d{1,7})"  # IPython 8, pytest
    r"(?=, in |: in |: \w*(?:Error|Exception|Warning)| in )"
    r"|^[│|] (?P<rich>[^\s:│]{1,400}\.py):(?P<rich_line>\d{1,7}) in ",  # rich
    re.MULTILINE,
)
_WRITTEN = re.compile(r"(?:, in [^\n]{1,200})?\r?\n {2,12}(?!File )([^\n]{1,400})")
"""The line of code below a frame of Python's own traceback."""
_CODE = re.compile(
    # Below Python's own frame, and behind the number of a line of IPython or rich.
    r'^(?P<lead>[^\n]{0,40}?)[ \t]*File "[^"\n]{1,400}", line \d{1,7}[^\n]*\n(?:(?P=lead)[ \t]{4,}[^\n]*\n){0,12}(?P=lead)[ \t]{4,}[^\n]*\Z'
    r"|^[│|]?[ \t]*(?:-{1,9}>|❱)?[ \t]*\d{1,6}[ │][^\n]*\Z",
    re.MULTILINE,
)
_WARNING = re.compile(r": \w*Warning")
_FUNCTION = re.compile(r"(?:,? in |: in )(?:[\w<>]{1,100}\.){0,20}<?(\w+)")
"""The function of a frame, the last part of a qualified name (`Trainer.fit`, `move_data_to_device.<locals>.batch_to`)."""
_LIBRARY = re.compile(
    r"(?:site|dist)-packages[\\/]|[\\/]lib(?:64)?[\\/]python\d|Python\.framework|^<(?!ipython)|[\\/]bin[\\/][^\\/.]+$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class UserLine:
    """A line of the user's own code: in a file, or in a notebook cell.

    `execution` is the number in `In [12]`; `cell` counts the notebook's cells from 1 and is known only when the log is
    that notebook.
    """

    line: int
    file: str = ""
    execution: int | None = None
    cell: int | None = None
    text: str = field(default="", compare=False)
    """The line as the traceback prints it, '' where it doesn't."""

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}, line {self.line}"
        if self.cell is not None:
            return f"cell {self.cell}, line {self.line}"
        return f"cell In [{self.execution or ' '}], line {self.line}"


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """A file that a traceback runs through, with `/` between its folders; its function and line of code, '' where they aren't printed."""

    path: str
    function: str
    line: int
    text: str = field(default="", compare=False)

    @property
    def package(self) -> str:
        """The package that a library's file belongs to."""
        return self.path.partition("/")[0].removesuffix(".py")

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" + (f" ({self.function})" if self.function not in ("", "module") else "")
        return f"{place}: {self.text}" if self.text else place


def frames_above(log: Log, offset: int) -> tuple[TracedFrame, ...]:
    """Return the frames in files of the traceback that ends at `offset`, libraries' included, in its order."""
    return _frames_of(_traceback(log, offset))


def _frames_of(text: str) -> tuple[TracedFrame, ...]:
    """Return the frames in files that a traceback runs through."""
    found = []
    for match in _frames_in(text):
        path = match["file"] or match["path"] or match["rich"]
        if path:
            function = _FUNCTION.match(text, match.end())
            line = int(match["line"] or match["path_line"] or match["rich_line"])
            written = _WRITTEN.match(text, match.end()) if match["file"] else None
            code = written.group(1).strip() if written is not None else ""
            found.append(TracedFrame(path.replace("\\", "/"), function.group(1) if function is not None else "", line, code))
    return tuple(found)


def library_frame(log: Log, offset: int) -> TracedFrame | None:
    """Return the frame of a library in which a traceback ends, by its path in that library; None where it ends in the user's code.

    What lies beneath is skipped: the standard library, and packages whose lines don't say who asked for what.
    """
    for frame in reversed(frames_above(log, offset)):
        _, installed, path = frame.path.rpartition("-packages/")
        if installed and (found := dataclasses.replace(frame, path=path)).package not in platform_data("packages")["beneath"]:
            return found
        if not installed and not _LIBRARY.search(frame.path):
            return None
    return None


def last_traceback(log: Log) -> int:
    """Return where the traceback begins that ended the run, with those that it was raised from; 0 where there is none."""
    starts = [match.start() for match in _START.finditer(log.text)]
    for before, start in reversed([*itertools.pairwise([0, *starts])]):
        chained = _CHAINED.search(log.text, max(0, start - _LINK), start)
        if chained is None or (chained["handled"] and not _is_translated(log.text[before:start], log.text[start : start + _REACH])):
            return start
    return 0


def is_handling(log: Log, start: int) -> bool:
    """Return whether the traceback that begins at `start` is of an error that was raised while another one was handled."""
    chained = _CHAINED.search(log.text, max(0, start - _LINK), start)
    return chained is not None and chained["handled"] is not None


def is_code(text: str, offset: int) -> bool:
    """Return whether what stands at `offset` is a line of code that a traceback shows, not what was raised or printed."""
    return _CODE.search(strip_escapes(text[max(0, offset - _GAP) : offset])) is not None


def _is_translated(caught: str, raised: str) -> bool:
    """Return whether what was raised while an error was handled says it in other words: by `raise` in the function that caught it."""
    later = _START.search(raised, 1)
    frames = _frames_of(raised[: later.start() if later else None])
    catching = {(one.path, one.function) for one in _frames_of(caught)}
    return bool(frames) and frames[-1].text.startswith("raise ") and (frames[-1].path, frames[-1].function) in catching


def _frames_in(text: str) -> Iterator[re.Match[str]]:
    """Yield where a text names frames; the place of a warning is one of that warning alone, at the end of the text."""
    for match in _FRAME.finditer(text):
        if _WARNING.match(text, match.end()) is None or "\n" not in text[match.end() :]:
            yield match


def _traceback(log: Log, offset: int) -> str:
    """Return the text of the traceback that ends at `offset`, '' where none does."""
    output = log.output_at(offset)
    floor = max(0, offset - _REACH, output.start if output else 0)
    text = strip_escapes(log.text[floor:offset])
    starts = [match.end() for match in _START.finditer(text)]
    text = text[starts[-1] :] if starts else text
    last = max((match.end() for match in _frames_in(text)), default=None)
    return text if last is not None and len(text) - last <= _GAP else ""


def own_frame(log: Log, offset: int) -> UserLine | None:
    """Return the last frame of the user's own code in the traceback that ends at `offset`, or None."""
    output = log.output_at(offset)
    frames = list(_frames(_traceback(log, offset), log))
    if frames and not frames[-1].file and frames[-1].cell is None and output:
        return dataclasses.replace(frames[-1], cell=output.cell)
    return frames[-1] if frames else None


def _frames(text: str, log: Log) -> Iterator[UserLine]:
    """Yield the frames of the user's own code, in the order of the traceback."""
    cell: int | None = None
    for match in _frames_in(text):
        found = match.groupdict()
        if found["old"] or match.group().endswith(".py in "):
            # IPython 7 prints the frame first and the line on the arrow below it.
            cell = int(found["old"]) if found["old"] else -1
        elif found["arrow"]:
            if cell is not None:
                execution = cell if cell >= 0 else None
                yield UserLine(int(found["arrow"]), execution=execution, cell=log.cell_of(execution))
            cell = None
        else:
            cell = None
            frame = _frame(found, log)
            if frame is not None:
                written = _WRITTEN.match(text, match.end()) if found["file"] else None
                yield dataclasses.replace(frame, text=written.group(1).strip()) if written is not None else frame


def _frame(found: dict[str, str], log: Log) -> UserLine | None:
    """Return the frame that a match describes, or None when it is a library's."""
    execution = found["cell"] or found["input"]
    if execution:
        line = int(found["cell_line"] or found["input_line"])
        return UserLine(line, execution=int(execution), cell=log.cell_of(int(execution)))
    file = found["file"] or found["path"] or found["rich"]
    if not file or _LIBRARY.search(file):
        return None
    return UserLine(int(found["line"] or found["path_line"] or found["rich_line"]), file=file)
