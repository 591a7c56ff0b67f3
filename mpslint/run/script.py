"""What `check` says of the script of a watched run: the finding behind a warning, and the precision that the script asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpslint.core.finding import MpslintError
from mpslint.diagnose.catalogue import catalogue
from mpslint.engine import Checked
from mpslint.run.events import Observed
from mpslint.run.watcher import shown_path
from mpslint.session.session import FileResult, Options, check_file
from mpslint.session.view import ShownFinding, view
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.settings.translate import DTYPES
from mpslint.source.document import Kind, Place
from mpslint.source.files import STANDARD_INPUT, FoundFile, find_files


def script_of(words: Sequence[str]) -> str | None:
    """Return the Python script that a command names, so that it can be checked; None where it names none."""
    if words[0] == "-m" and len(words) > 1:
        module = Path(*words[1].split("."))
        return next((str(path) for path in (module.with_suffix(".py"), module / "__main__.py") if path.is_file()), None)
    return next((word for word in words if word.endswith(".py") and Path(word).is_file()), None)


def _has_autocast_off(plan: TrainingPlan) -> bool:
    enabled = plan.get("precision.autocast_enabled")
    return enabled is not None and not (enabled.is_known and enabled.constant is True)


@dataclass(slots=True)
class Script:
    """The script of a run. `named` is the one that the command names; the process that trains may run another."""

    named: str | None
    notebook: bytes | None = None
    """The cells of a kernel, in the place of a file."""
    _read: bytes | None = None
    _results: dict[str, FileResult | None] = field(default_factory=dict)

    def path(self, observed: Observed) -> str | None:
        """Return the file that trains, as seen from here; None where that isn't known."""
        if self.notebook is None and observed.script.endswith(".py") and Path(observed.script).is_file():
            return shown_path(observed.script)
        return self.named

    def checked(self, observed: Observed) -> FileResult | None:
        """Return what check says of it, for the torch that runs; None where it can't be read."""
        path = self.path(observed)
        if path is None:
            return None
        if self.notebook is not None and self.notebook != self._read:
            self._read = self.notebook
            self._results.clear()
        if path not in self._results:
            target = {"torch": observed.torch.partition("+")[0]} if observed.torch else {}
            try:
                options = Options(observed=target, with_plans=True)
                if self.notebook is not None:
                    options = replace(options, stdin=self.notebook, stdin_filename=path, stdin_kind=Kind.NOTEBOOK)
                found = FoundFile(STANDARD_INPUT) if self.notebook is not None else next(iter(find_files([path])))
                self._results[path] = check_file(found, options)
            except (MpslintError, StopIteration):
                self._results[path] = None
        return self._results[path]

    def explanation(self, observed: Observed, verdict: str) -> str:
        """Return where check finds the cause of a memory curve, as `; train.py:41 MPS301: ...`, or ''."""
        result = self.checked(observed)
        rules = catalogue().verdicts[verdict].rules
        found = sorted((one for one in view(result).findings if one.rule in rules), key=lambda one: rules.index(one.rule)) if result else []
        return self._told(observed, found)

    def found_at(self, observed: Observed, file: str, line: int) -> str:
        """Return the same of what check finds in a line of a traceback, if it is one of the script's."""
        result = self.checked(observed) if shown_path(file) == self.path(observed) else None
        return self._told(observed, [one for one in view(result).findings if one.line == line] if result else [])

    def _told(self, observed: Observed, found: Sequence[ShownFinding]) -> str:
        return f"; {self._at(observed, found[0].place)} {found[0].rule}: {found[0].message}" if found else ""

    def _at(self, observed: Observed, place: Place) -> str:
        return f"cell {place.cell}:{place.line}" if place.cell is not None else f"{self.path(observed)}:{place.line}"

    def precision_missed(self, observed: Observed) -> Iterator[str]:
        """Yield a sentence on each precision that the script asks for and the run doesn't have."""
        result = self.checked(observed)
        if result is None or result.checked is None:
            return
        seen = {*observed.dtypes, *observed.computed}
        kinds = ("trainer",)  # elsewhere the weights that are asked for may be those of a frozen model
        asked = (("precision.mixed", observed.computed.keys(), (*kinds, "loop", "accelerator")), ("precision.weights", seen, kinds))
        for name, what, among in asked:
            setting = _asked(result.checked, name, among)
            wanted = DTYPES.get(str(setting.constant)) if setting is not None else None
            if setting is None or wanted in (None, "auto") or not what or wanted in what:
                continue
            shown = " and ".join(sorted(observed.computed or observed.dtypes))
            verb = "the layers compute in" if observed.computed else "the trained weights are"
            place = result.checked.document.place(setting.span.start) if setting.span is not None else None
            where = f"{self._at(observed, place)}, " if place is not None else ""
            yield f"{wanted} is asked for ({where}{setting.spelling}), but {verb} {shown}"


def _asked(checked: Checked, name: str, kinds: Sequence[str]) -> Setting | None:
    """Return what training runs of these kinds write of a setting; None where several differ."""
    plans = [plan for one in checked.evidence for plan in one.plans if plan.kind in kinds and not _has_autocast_off(plan)]
    written = [setting for plan in plans if (setting := plan.get(name)) is not None and setting.is_written and setting.is_known]
    return written[0] if len({str(setting.constant) for setting in written}) == 1 else None
