"""The IPython extension: `%load_ext mpslint`, then `%mpslint` checks the notebook so far, and `%%mpslint` a cell before it runs."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpslint.core.finding import MpslintError, Severity
from mpslint.core.links import rule_url
from mpslint.core.record import record
from mpslint.jupyter.cells import NAME, Cells, Ran, as_written
from mpslint.report.text import counted
from mpslint.session.view import FileView, ShownFinding, said_once
from mpslint.settings.roles import closest

if TYPE_CHECKING:
    from mpslint.jupyter.watching import Watching
    from mpslint.session.session import FileResult, Options

VERBS = ("check", "fix", "plan", "on", "off", "run", "stop")
COLOURS = {"error": "#d1242f", "warning": "#9a6700", "note": "#0969da"}
_STYLE = "font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;line-height:1.5"
_CODE = "margin:2px 0 2px 12px;padding:2px 6px;background:rgba(128,128,128,.12);white-space:pre-wrap"


@record()
class Session:
    """One kernel: its cells, and whether each cell is checked before it runs."""

    ipython: Any
    cells: Cells
    watching: Watching | None = None
    """What `%mpslint run` began."""
    before_each: Options | None = None
    """By what each cell is checked before it runs, where `%mpslint on` asked for it."""


def register(ipython: Any) -> None:
    """Give a running IPython the magics `%mpslint` and `%%mpslint`."""
    session = Session(ipython, Cells())
    history = ipython.history_manager.input_hist_raw
    for count, text in enumerate(history[1:], start=1):
        session.cells.add(text, count)

    def before_run(info: Any) -> None:
        if not info.store_history or not info.raw_cell.strip():
            return
        count = len(history)  # what this run will be called; execution_count is one more already in newer releases of IPython
        ran = session.cells.add(info.raw_cell, count, getattr(info, "cell_id", None) or "")
        asked = session.before_each
        if asked is not None and ran is not None and not info.raw_cell.lstrip().startswith("%%mpslint"):
            _guarded(lambda: _check(session, asked, ran))

    def mpslint(line: str, cell: str | None = None) -> None:
        """Check the notebook so far (%mpslint), or this cell before it runs (%%mpslint); --help lists what else there is."""
        is_run = _asked(session, line, cell)
        if cell is not None and is_run:
            ipython.run_cell(cell)

    def after_run(result: Any) -> None:
        if session.watching is not None:
            session.watching.after_cell(result)

    ipython.events.register("pre_run_cell", before_run)
    ipython.events.register("post_run_cell", after_run)
    ipython.register_magic_function(mpslint, "line_cell", "mpslint")


@click.command("%mpslint", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("verb", type=click.Choice(VERBS), default="check")
@click.argument("number", type=int, required=False)
@click.option("--severity", type=click.Choice([one.value for one in Severity]), help="Minimum severity to report.")
@click.option("--select", multiple=True, metavar="RULE", help="Rules to check: ids, names or prefixes. Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Rules to leave out. Repeatable.")
@click.option("--memory", metavar="SIZE", help="The Mac's memory, such as 16GB.")
@click.option("--chip", metavar="CHIP", help="The Mac's chip, such as m2.")
@click.option("--torch", metavar="VERSION", help="The version of torch to check for.")
@click.option("--unsafe", is_flag=True, help="With fix: also what changes the run.")
@click.option("--csv", "table", type=click.Path(path_type=Path), metavar="FILE", help="With run: write step, time and memory to FILE.")
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="With run: write a page with the curves at stop.")
@click.option("--every", type=click.FloatRange(min=1), default=60.0, help="With run: seconds between status lines.")
def _parser(**values: Any) -> dict[str, Any]:
    """Check the cells that have run so far, each as it ran last; nothing of them is run again.

    \b
    %mpslint                 check the notebook so far
    %mpslint fix [NUMBER]    show the fix of In [NUMBER], and put the fixed cell below
    %mpslint plan            show the training run as mpslint understands it
    %mpslint on, %mpslint off   check each cell before it runs
    %mpslint run, %mpslint stop   watch what the cells from here on train
    %%mpslint                check this cell, then run it
    %%mpslint fix            put the fix in place of this cell, and don't run it
    """
    return values


def _asked(session: Session, line: str, cell: str | None) -> bool:
    """Do what a line asks for; return whether the cell, where there is one, is to be run."""
    try:
        values = _parser.main(shlex.split(line), "%mpslint", standalone_mode=False)
    except (click.ClickException, ValueError) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        near = closest(line.split()[0], VERBS) if line.split() else ""
        print(f"%mpslint: {said.rstrip('.')}{near}; %mpslint --help lists the options")
        return False
    if not isinstance(values, dict):
        return False  # the help was shown
    mac = {name: values[name] for name in ("memory", "chip", "torch") if values[name]}
    options = _options(values["severity"], values["select"], values["ignore"], mac)
    this = max(session.cells.ran, key=lambda ran: ran.count, default=None) if cell is not None else None
    verb = values["verb"]
    if verb in ("on", "off"):
        session.before_each = options if verb == "on" else None
        print(f"Each cell is checked before it runs: {verb}.")
    elif verb in ("run", "stop"):
        _guarded(lambda: _watch(session, verb == "run", values))
    elif verb == "plan":
        _guarded(lambda: _plan(session, options))
    elif verb == "fix":
        _guarded(lambda: _fix(session, options, values["number"], this, values["unsafe"]))
        return False
    else:
        _guarded(lambda: _check(session, options, this))
    return True


def _watch(session: Session, begins: bool, values: dict[str, Any]) -> None:
    """Begin to watch what cells train, or end it with a summary."""
    if session.watching is not None:
        print(f"mpslint: {session.watching.stop()}")
        session.watching = None
    elif not begins:
        print("mpslint: nothing is watched; %mpslint run begins it")
    if begins:
        from mpslint.jupyter.watching import begin

        session.watching = begin(session.ipython, session.cells, values["table"], values["page"], values["every"])
        print("mpslint: what the next cells train is watched; %mpslint stop ends it.")


def _guarded(action: Any) -> None:
    """Do something; what stands in its way is one line, never a traceback into the user's notebook."""
    try:
        action()
    except MpslintError as error:
        print(f"mpslint: {error}")


def _options(severity: str | None, select: Any, ignore: Any, mac: dict[str, str]) -> Options:
    from mpslint.session.session import Options
    from mpslint.source.document import Kind

    words = [tuple(part.strip() for word in given for part in word.split(",") if part.strip()) for given in (select, ignore)]
    level = Severity(severity) if severity else None
    return Options(words[0], words[1], level, target=mac, stdin_filename=NAME, stdin_kind=Kind.NOTEBOOK)


def _checked(session: Session, options: Options) -> FileResult:
    from mpslint.session.session import check_file
    from mpslint.source.files import STANDARD_INPUT, FoundFile

    return check_file(FoundFile(STANDARD_INPUT), replace(options, stdin=session.cells.notebook()))


def _check(session: Session, options: Options, only: Ran | None) -> None:
    """Show what is found: in one cell, or in all of them."""
    from mpslint.session.view import view

    file = view(_checked(session, options))
    if only is not None:
        number = session.cells.ran.index(only) + 1
        kept = tuple(finding for finding in file.findings if finding.place.cell == number)
        unread = tuple(part for part in file.unread if part[0].cell == number)
        unjudged = tuple(part for part in file.unjudged if part[0].cell == number)
        file = replace(file, findings=kept, unread=unread, unjudged=unjudged)
        if session.before_each is not None and not kept:
            return
    _show(session, findings_page(file, session.cells.ran))


def _fix(session: Session, options: Options, number: int | None, this: Ran | None, unsafe: bool) -> None:
    """Show the fix of one cell, and put it into the next cell, or in place of the cell that asked."""
    from mpslint.session.session import fix_file
    from mpslint.source.files import STANDARD_INPUT, FoundFile

    fixed = fix_file(FoundFile(STANDARD_INPUT), replace(options, stdin=session.cells.notebook()), unsafe)
    after = fixed.after.document
    texts = [after.text[cell.span.start : cell.span.end] for cell in after.cells]
    changed = [(ran, text) for ran, text in zip(session.cells.ran, texts, strict=True) if ran.text != text]
    wanted = [pair for pair in changed if (pair[0] is this if this is not None else number in (None, pair[0].count))]
    if not wanted:
        print("Nothing to fix." if not changed else f"Nothing to fix there; {_names(changed)} can be fixed.")
        return
    ran, text = wanted[0]
    _show(session, diff_page(as_written(ran.text), as_written(text), f"In [{ran.count}], fixed"))
    session.ipython.set_next_input(as_written(text), replace=this is not None)
    left = [pair for pair in changed if pair[0] is not ran]
    if left:
        print(f"{_names(left)} can be fixed too: %mpslint fix {left[0][0].count}")


def _names(changed: list[tuple[Ran, str]]) -> str:
    return ", ".join(f"In [{ran.count}]" for ran, _ in changed)


def _plan(session: Session, options: Options) -> None:
    from mpslint.report.console import console
    from mpslint.report.plan import print_plans

    print_plans(console(), [_checked(session, replace(options, with_plans=True))], with_defaults=False)


def _show(session: Session, shown: Shown) -> None:
    """Show one display, as HTML where the frontend can."""
    session.ipython.display_pub.publish({"text/plain": shown.text, "text/html": shown.html})


@record(frozen=True)
class Shown:
    """The same, for frontends that show HTML and for those that do not."""

    html: str
    text: str


def findings_page(file: FileView, cells: Sequence[Ran]) -> Shown:
    """Return the findings of the cells, the worst first, each with a link to its cell."""
    said = said_once(file.findings)
    summary = _summary(file, [finding for finding, _ in said])
    rows = "".join(_row(finding, len(others), cells) for finding, others in said)
    is_fixable = any(finding.safety == "safe" for finding in file.findings)
    hint = "<div>Fix: <code>%mpslint fix</code></div>" if is_fixable else ""
    lines = [f"{_where(f, cells)}: {f.severity} {f.rule} {f.message}{_fix_words(f)}" for f, _ in said]
    unread = [f"cell {place.cell}, line {place.line}: not read: {reason}" for place, reason in file.unread]
    unread += [f"cell {place.cell}, line {place.line}: not judged: {reason}" for place, reason in file.unjudged]
    more = "".join(f"<div>{escape(line)}</div>" for line in unread)
    text = "\n".join([*lines, *unread, summary, *(["Fix: %mpslint fix"] if is_fixable else [])])
    return Shown(f'<div style="{_STYLE}"><b>{escape(summary)}</b>{rows}{more}{hint}</div>', text)


def _summary(file: FileView, said: Sequence[ShownFinding]) -> str:
    if file.problem:
        return file.problem
    counts = [counted(number, word) for word in COLOURS if (number := sum(f.severity == word for f in said))]
    hidden = f" Not shown: {counted(len(file.hidden), 'finding')} (--severity)." if file.hidden else ""
    if counts:
        return f"{', '.join(counts)}.{hidden}"
    return f"{'No findings in the cells that were read' if file.unread else 'Nothing wrong for MPS'}.{hidden}"


def _where(finding: ShownFinding, cells: Sequence[Ran]) -> str:
    """Return `In [5], line 2`, or a place in another file."""
    place = finding.place
    return place.shown if place.path else f"In [{cells[(place.cell or 1) - 1].count}], line {place.line}"


def _fix_words(finding: ShownFinding) -> str:
    return f" Fix ({finding.safety}): {finding.fix}" if finding.safety else ""


def _row(finding: ShownFinding, others: int, cells: Sequence[Ran]) -> str:
    cell = cells[(finding.place.cell or 1) - 1]
    where = escape(_where(finding, cells))
    place = f'<a href="#cell-id={escape(cell.id)}">{where}</a>' if cell.id else where
    url = rule_url(finding.rule)
    rule = f'<a href="{escape(url)}" target="_blank">{finding.rule}</a>' if url else finding.rule
    severity = f'<b style="color:{COLOURS[finding.severity]}">{finding.severity}</b>'
    more = f" (and at {counted(others, 'more place')})" if others else ""
    code = escape(finding.source.strip())
    fix = f"<div><i>{escape(_fix_words(finding).strip())}</i></div>" if finding.safety else ""
    head = f"{place}{more} {severity} {rule} {escape(finding.name)}"
    return f'<div style="margin-top:8px">{head}<div>{escape(finding.message)}</div><pre style="{_CODE}">{code}</pre>{fix}</div>'


def diff_page(before: str, after: str, title: str) -> Shown:
    """Return what changes in a cell."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "", "", n=2, lineterm=""))[2:]
    colours = {"+": "rgba(46,160,67,.2)", "-": "rgba(248,81,73,.2)", "@": "transparent"}
    rows = "".join(f'<div style="background:{colours.get(line[:1], "transparent")}">{escape(line) or " "}</div>' for line in lines)
    html = f'<div style="{_STYLE}"><b>{escape(title)}</b><pre style="{_CODE}">{rows}</pre></div>'
    return Shown(html, "\n".join([title, *lines]))
