"""Comments that silence findings: `# mpslint: ignore[MPS101] reason`, `# mpslint: ignore-file[...]`, `# noqa: MPS101`, cell tags."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence

from mpslint.config.comments import comments_in
from mpslint.core.finding import Edit, Finding, Span
from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.program.walk import walk
from mpslint.rule.selection import current
from mpslint.source.document import Document, Kind

CELL_TAG = "mpslint-ignore"
_COMMENT = re.compile(r"#[ \t]*mpslint:[ \t]*(ignore-file|ignore)(?:\[([^\]\r\n]*)\])?([^\r\n#]*)", re.IGNORECASE)
_NOQA = re.compile(r"#[ \t]*noqa[ \t]*:[ \t]*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)", re.IGNORECASE)
CONTINUED_BY_BACKSLASH = frozenset([Kind.SHELL, Kind.DOCKERFILE, Kind.MAKEFILE])
_CODE = re.compile(r"[A-Z]{3,8}\d{3}")
_BEGINNING = re.compile(r"[A-Z]{3,8}\d{1,3}")
_CELL = re.compile(r"# ?%%|# MAGIC %")
_PROSE = re.compile(r"# ?%%.*\[(?:markdown|md|raw)\]|# MAGIC %(?:md|html)")
"""How a cell begins in a script that is a notebook too, and one whose comments are the text that people read."""


@record(frozen=True, slots=True)
class Suppression:
    """One comment or tag: what it silences, and where."""

    rules: tuple[str, ...]
    """Ids, beginnings of ids, or names, in capitals; nothing for every rule."""
    lines: tuple[int, int]
    """The first and last line of `Document.text` that it covers; the whole file for `ignore-file`."""
    span: Span
    """The comment itself; for a tag, where its cell begins."""
    written: str
    """The comment or the tag."""
    is_own: bool = True
    """Written for mpslint alone, so that mpslint may take it away (a `noqa` may be another tool's)."""

    def covers(self, finding: Finding, first: int, last: int) -> bool:
        """Return whether it silences a finding that begins on line `first` and ends on line `last`."""
        low, high = self.lines
        is_near = low <= first <= high or low <= last <= high
        return is_near and (not self.rules or any(is_meant(rule, finding.rule, finding.name) for rule in self.rules))


def is_meant(word: str, rule: str, name: str) -> bool:
    """Return whether a word of a comment means a rule with this id and this name."""
    return rule.startswith(word) or name.upper() == word or rule == current(word)


@record(frozen=True, slots=True)
class Unused:
    """A comment or tag that silences nothing, or some of whose rules do not."""

    suppression: Suppression
    rules: tuple[str, ...]
    """The rules of it that silence nothing: all of them, or nothing where it names none."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it silences anything."""
        return len(self.rules) == len(self.suppression.rules)


@record(frozen=True, slots=True)
class Silenced:
    """The findings of a file, sorted by whether a comment silences them, and what of the comments silences nothing."""

    kept: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    unused: tuple[Unused, ...]
    used: frozenset[int] = frozenset()
    """Where the comments begin that silence something."""


Programs = Sequence[tuple[str, Sequence[ast.stmt]]]
"""The text and the statements of each program of a Document."""


def silence(document: Document, programs: Programs, findings: Sequence[Finding]) -> Silenced:
    """Return the findings of a Document, those that its comments silence set apart."""
    suppressions = list(_suppressions(document, programs))
    if not suppressions:
        return Silenced(tuple(findings), (), ())
    everywhere, by_line = _indexed(suppressions, len(document.line_starts))
    kept: list[Finding] = []
    silenced: list[Finding] = []
    meant: dict[tuple[str, str], set[tuple[int, str]]] = {}
    """What in comments for the whole file means a rule."""
    used: set[tuple[int, str]] = set()
    for finding in findings:
        first, last = document.line_at(finding.span.start), document.line_at(max(finding.span.start, finding.span.end - 1))
        key = finding.rule, finding.name
        if key not in meant:
            meant[key] = {(id(s), rule) for s in everywhere for rule in s.rules or ("",) if is_meant(rule, *key)}
            used |= meant[key]
        near = {id(s): s for s in (*by_line.get(first, ()), *by_line.get(last, ()))}.values()
        covering = [s for s in near if s.covers(finding, first, last)]
        used.update((id(s), rule) for s in covering for rule in s.rules or ("",) if is_meant(rule, *key))
        (silenced if covering or meant[key] else kept).append(finding)
    left = ((s, tuple(rule for rule in s.rules or ("",) if (id(s), rule) not in used)) for s in suppressions if s.is_own)
    unused = tuple(Unused(s, rules if s.rules else ()) for s, rules in left if rules)
    found = {key for key, _ in used}
    places = frozenset(s.span.start for s in suppressions if id(s) in found)
    return Silenced(tuple(kept), tuple(silenced), unused, places)


def _indexed(suppressions: Sequence[Suppression], lines: int) -> tuple[list[Suppression], dict[int, list[Suppression]]]:
    """Return those that cover the whole file, and the others by each line that they cover."""
    placed = [(one, *one.lines) for one in suppressions]
    everywhere = [one for one, low, high in placed if high - low >= lines - 1]
    return everywhere, grouped((line, one) for one, low, high in placed if high - low < lines - 1 for line in range(low, high + 1))


def _suppressions(document: Document, programs: Programs) -> Iterator[Suppression]:
    for cell in document.cells:
        for tag in cell.tags:
            rules = _tagged(tag)
            if rules is not None:
                lines = document.line_at(cell.span.start), document.line_at(cell.span.end)
                yield Suppression(rules, lines, Span(cell.span.start, cell.span.start), tag)
    lowered = document.text.lower()
    if "mpslint:" not in lowered and not ("noqa" in lowered and "mps" in lowered):
        return
    for text, body in programs:
        ends, lines = _ends_of_statements(body), _lines_of(document, text)
        for span in comments_of(document, text):
            yield from _of_comment(document, ends, span, lines)


def _lines_of(document: Document, program: str) -> tuple[int, int]:
    """Return the first and last line of a program: of the whole file, or of the cell that writes a script."""
    if program == document.python or not program.strip():
        return 1, len(document.line_starts)
    return document.line_at(len(program) - len(program.lstrip())), document.line_at(len(program.rstrip()))


def _tagged(tag: str) -> tuple[str, ...] | None:
    """Return the rules that a tag silences (none for all): `mpslint-ignore-MPS101-MPS3`, or a name; None for another tag."""
    if tag == CELL_TAG:
        return ()
    words = tag.removeprefix(f"{CELL_TAG}-").upper()
    if words == tag.upper():
        return None
    parts = words.split("-")
    return tuple(parts) if all(_BEGINNING.fullmatch(part) for part in parts) else (words,)


def _of_comment(document: Document, ends: Mapping[int, int], span: Span, program: tuple[int, int]) -> Iterator[Suppression]:
    text = document.text[span.start : span.end]
    for match in _COMMENT.finditer(text):
        rules = tuple(part.strip().upper() for part in (match.group(2) or "").split(",") if part.strip())
        place = Span(span.start + match.start(), span.start + match.end())
        lines = program if match.group(1).lower() == "ignore-file" else _covered(document, ends, span)
        yield Suppression(rules, lines, place, match.group())
    for match in _NOQA.finditer(text):
        rules = tuple(code for code in _CODE.findall(match.group(1).upper()) if code.startswith("MPS"))
        if rules:
            place = Span(span.start + match.start(), span.start + match.end())
            yield Suppression(rules, _covered(document, ends, span), place, match.group(), is_own=False)


def _covered(document: Document, ends: Mapping[int, int], comment: Span) -> tuple[int, int]:
    """Return the lines that a comment speaks for.

    Beside code: its line, and the whole statement where the statement begins on it. On a line of its own: the statement that follows.
    """
    line = document.line_at(comment.start)
    start = document.line_starts[line - 1]
    if document.text[start : comment.start].strip():
        return line, ends.get(line, line)
    following = _line_after_comments(document, line)
    if document.kind in CONTINUED_BY_BACKSLASH:
        return following, last_line_of_command(document, following)
    return following, ends.get(following, following)


def _line_after_comments(document: Document, line: int) -> int:
    """Return the first line below a comment that is no comment; kept, since each comment of a block asks for it."""
    first, following = document.memo.get("comments", (0, 0))
    following = int(following)
    if not first <= line < following:
        following = line + 1
        while following <= len(document.line_starts) and document.line_text(following).lstrip().startswith("#"):
            following += 1
        document.memo["comments"] = line, following
    return following


def last_line_of_command(document: Document, line: int) -> int:
    """Return the last line of the shell command or Dockerfile instruction that a line is part of."""
    while line < len(document.line_starts) and document.line_text(line).endswith("\\"):
        line += 1
    return line


def _first_line_of_command(document: Document, line: int) -> int:
    while line > 1 and document.line_text(line - 1).endswith("\\"):
        line -= 1
    return line


def _ends_of_statements(body: Sequence[ast.stmt]) -> dict[int, int]:
    """Return, for each line that a statement begins on, the last line of that statement, or of the head of its block."""
    ends: dict[int, int] = {}
    for node in (one for one in walk(*body) if isinstance(one, ast.stmt)):
        inner = getattr(node, "body", None)
        end = (inner[0].lineno - 1 if inner else None) or node.end_lineno
        for line in (node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ())[:1])):
            ends.setdefault(line, end or line)
    return ends


def removal_of(document: Document, unused: Unused) -> Edit | None:
    """Return the edit that takes a comment away, with its line where nothing else is on it, or rules out of it.

    None for a tag, and for what some reader of the file may take for more than a comment.
    """
    span = unused.suppression.span
    if span.end == span.start or _may_be_more(document, span):
        return None
    if not unused.is_whole:
        return _without_rules(document, unused)
    line = document.line_at(span.start)
    start = document.line_starts[line - 1]
    before = document.text[start : span.start]
    after = document.line_text(line)[span.end - start :]
    if not before.strip() and not after.strip():
        return Edit(document.lines_of(span), "")
    return Edit(Span(start + len(before.rstrip()), span.end), "")


def _may_be_more(document: Document, span: Span) -> bool:
    """Return whether a comment may be part of a value (`docker --env-file` knows none behind one), or holds a command's lines together."""
    line = document.line_at(span.start)
    if document.kind is Kind.ENV:
        return bool(document.text[document.line_starts[line - 1] : span.start].strip())
    is_alone = _first_line_of_command(document, line) == line == last_line_of_command(document, line)
    return document.kind in CONTINUED_BY_BACKSLASH and not is_alone


def _without_rules(document: Document, unused: Unused) -> Edit | None:
    match = _COMMENT.match(document.text, unused.suppression.span.start)
    if match is None:
        return None
    kept = [part.strip() for part in match.group(2).split(",") if part.strip() and part.strip().upper() not in unused.rules]
    return Edit(Span(match.start(2), match.end(2)), ", ".join(kept))


def ignores_for(document: Document, programs: Programs, findings: Sequence[Finding], reason: str) -> list[Edit]:
    """Return the edits that write a comment for each finding: beside its line, or above it where nothing may stand beside.

    JSON has no comments, so nothing is written there.
    """
    if document.kind is Kind.JSON:
        return []
    rules_of_line: dict[int, list[str]] = {}
    for finding in findings:
        line = document.line_at(finding.span.start)
        line = _first_line_of_command(document, line) if document.kind in CONTINUED_BY_BACKSLASH else line
        rules_of_line.setdefault(line, []).append(finding.rule)
    commented = {document.line_at(span.start): span for text, _ in programs for span in comments_of(document, text)}
    edits = []
    for line, rules in rules_of_line.items():
        text = document.line_text(line)
        start = document.line_starts[line - 1]
        existing = _COMMENT.search(document.text, commented[line].start, commented[line].end) if line in commented else None
        if existing is not None and existing.group(2):
            edits.append(Edit(Span(existing.end(2), existing.end(2)), "".join(f", {rule}" for rule in sorted(set(rules)))))
        elif _may_stand_beside(document, programs, line):
            edits.append(Edit(Span(start + len(text.rstrip()), start + len(text)), f"  {comment_for(rules, reason)}"))
        else:
            indent = text[: len(text) - len(text.lstrip())]
            edits.append(Edit(Span(start, start), f"{indent}{comment_for(rules, reason)}\n"))
    return edits


def _may_stand_beside(document: Document, programs: Programs, line: int) -> bool:
    """Return whether a comment may follow on a line: not after a backslash, in a string or a magic."""
    text = document.line_text(line).rstrip()
    if text.endswith("\\") or document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        return False
    start = document.line_starts[line - 1]
    masked = any(program[start : start + len(text)].rstrip() == text for program, _ in programs)
    return masked and not any(_string_ends_later(statement, line) for _, body in programs for statement in body)


def _string_ends_later(statement: ast.stmt, line: int) -> bool:
    if not statement.lineno <= line <= (statement.end_lineno or statement.lineno):
        return False
    return any(
        isinstance(node, (ast.Constant, ast.JoinedStr)) and node.lineno <= line < (node.end_lineno or node.lineno)
        for node in walk(statement)
    )


def comment_for(rules: Sequence[str], reason: str) -> str:
    """Return the comment that silences some rules."""
    return f"# mpslint: ignore[{', '.join(sorted(set(rules)))}]{' ' + reason if reason else ''}"


def comments_of(document: Document, python: str) -> Iterator[Span]:
    """Yield the place of every comment; `python` is the text of one program of the Document, where it has any."""
    if document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        yield from comments_in(document.text, document.kind)
        return
    for part in [cell.span for cell in document.cells] or [Span(0, len(document.text))]:
        text = python[part.start : part.end]
        if "#" in text:
            yield from _python_comments(document, text, part.start)


def _python_comments(document: Document, text: str, offset: int) -> Iterator[Span]:
    first, is_prose = document.line_at(offset), False
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if _CELL.match(token.string):
                    is_prose = _PROSE.match(token.string) is not None
                if is_prose and not token.line[: token.start[1]].strip():
                    continue
                start = document.line_starts[first + token.start[0] - 2] + token.start[1]
                start = offset + token.start[1] if token.start[0] == 1 else start
                yield Span(start, start + len(token.string))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
