"""The JSON of `mpslint diagnose`. Its shape is stable: `schema` grows by one when a key changes its meaning or goes.

    {"schema": 1, "source", "lines", "outcome": "explained" | "uncertain" | "unknown", "summary",
     "symptoms": [{"id", "role": "cause" | "noise" | "not-mps", "severity", "follows": id | null, "place", "times", "quote",
                   "captures": {name: text}, "printed_by": versions | null, "frame": {"file", "cell", "execution", "line"} | null,
                   "library": {"file", "function", "line", "code"} | null, "rules": [id],
                   "explanation": {"title", "certain", "means", "does_not_mean",
                                   "change": [{"say", "set": {setting: value}, "upgrade"}]},
                   "memory": {"verdict", "beside", "allocated_bytes", "other_bytes", "limit_bytes", "request_bytes", "pool",
                              "other_share", "full", "working_set_bytes", "macs": [{"memory_gb", "macos", "ratio"}],
                              "torch", "impossible": [name], "sentences": [text]} | null}],
     "memory_log": {"verdict", "certain", "points", "first", "last", "jump_step", "dropped", "has_units", "explanation"} | null,
     "unknown": [{"text", "place", "frame", "library"}], "versions": {package: version}, "looked_for": count}

Symptoms stand in the order to read them. A place is {"line", "cell"}; cell is null outside of notebooks, where line counts in
its outputs. A point of a memory log is {"step", "live", "driver"}, in bytes when it has units.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mpslint.core.versions import format_version
from mpslint.diagnose.catalogue import Explanation
from mpslint.diagnose.diagnosis import Diagnosis, Symptom
from mpslint.diagnose.frames import TracedFrame, UserLine
from mpslint.diagnose.memory_log import MemoryLog
from mpslint.diagnose.memory_points import Point
from mpslint.diagnose.out_of_memory import AMOUNTS, OutOfMemory, evidence
from mpslint.report.diagnosis import summary

SCHEMA = 1


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as JSON values."""
    log = diagnosis.memory_log
    return {
        "schema": SCHEMA,
        "source": diagnosis.source,
        "lines": diagnosis.lines,
        "outcome": diagnosis.outcome.value,
        "summary": summary(diagnosis),
        "symptoms": [_symptom(symptom) for symptom in diagnosis.symptoms],
        "memory_log": _memory_log(log, diagnosis.memory_explanation) if log else None,
        "unknown": [
            {"text": one.text, "place": asdict(one.place), "frame": _frame(one.frame), "library": _library(one.library)}
            for one in diagnosis.unknown
        ],
        "versions": {name: format_version(version) for name, version in diagnosis.versions.items()},
        "looked_for": diagnosis.looked_for,
    }


def _symptom(symptom: Symptom) -> dict[str, Any]:
    return {
        "id": symptom.message.id,
        "role": symptom.message.role.value,
        "severity": symptom.message.severity.value,
        "follows": symptom.follows or None,
        "place": asdict(symptom.place),
        "times": symptom.times,
        "quote": symptom.quote,
        "captures": dict(symptom.captures),
        "printed_by": str(symptom.wording) or None,
        "frame": _frame(symptom.frame),
        "library": _library(symptom.library),
        "rules": list(symptom.explanation.rules),
        "explanation": _explanation(symptom.explanation),
        "memory": _memory(symptom.memory) if symptom.memory else None,
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "title": explanation.title,
        "certain": explanation.certain,
        "means": explanation.means,
        "does_not_mean": explanation.does_not_mean or None,
        "change": [
            {"say": change.say, "set": dict(change.settings), "upgrade": str(change.upgrade) or None} for change in explanation.changes
        ],
    }


def _memory(memory: OutOfMemory) -> dict[str, Any]:
    numbers = memory.numbers
    return {
        "verdict": memory.verdict,
        "beside": memory.beside or None,
        **{f"{name}_bytes": size.bytes if (size := getattr(numbers, name)) else None for name in AMOUNTS},
        "pool": numbers.pool or None,
        "other_share": _rounded(memory.other_share),
        "full": _rounded(memory.full),
        "working_set_bytes": memory.working_set,
        "macs": [{"memory_gb": guess.mac.memory, "macos": guess.mac.macos, "ratio": guess.ratio} for guess in memory.macs],
        "torch": str(memory.torch) or None,
        "impossible": list(memory.impossible),
        "sentences": list(evidence(memory)),
    }


def _memory_log(log: MemoryLog, explanation: Explanation | None) -> dict[str, Any]:
    return {
        **{name: getattr(log, name) for name in ("verdict", "certain", "points")},
        "first": _point(log.first),
        "last": _point(log.last),
        **{name: getattr(log, name) for name in ("jump_step", "dropped", "has_units")},
        "explanation": _explanation(explanation) if explanation else None,
    }


def _point(point: Point) -> dict[str, Any]:
    return {"step": point.step, "live": point.live, "driver": point.driver}


def _frame(frame: UserLine | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    return {"file": frame.file or None, "cell": frame.cell, "execution": frame.execution, "line": frame.line}


def _library(frame: TracedFrame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    return {"file": frame.path, "function": frame.function or None, "line": frame.line, "code": frame.text or None}


def _rounded(value: float | None) -> float | None:
    return round(value, 4) if value is not None else None
