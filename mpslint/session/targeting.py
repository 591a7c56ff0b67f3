"""Find the Target of a file: options, then configuration, what the file itself installs, the project's pins, the environment."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mpslint.core.folders import absolute, folder_of, remembered
from mpslint.core.system import SYSCTL, printed_by
from mpslint.core.versions import format_version
from mpslint.session.configuration import TARGET_KEYS, Configuration
from mpslint.session.starters import installed_in, pins_of_starters
from mpslint.source.document import Document, Kind
from mpslint.source.files import STANDARD_INPUT
from mpslint.target.commands import asserted, commands, script_header
from mpslint.target.macs import known_chip
from mpslint.target.pins import environment_versions, project_requirements, project_root
from mpslint.target.requirement import Requirement
from mpslint.target.target import MACOS, Target, default_target, given, resolved, with_mac, with_versions
from mpslint.target.uninstallable import uninstallable

OPTIONS = "option"
CONFIGURATION = "configuration"
OBSERVED = "the error text"
THIS_MAC = "this Mac"


def target_for(
    document: Document, configuration: Configuration, options: Mapping[str, str], observed: Mapping[str, str] | None = None
) -> Target:
    """Return what a Document is checked for, each version from the first place that says it, as one installable environment.

    `options` holds versions by package, and `memory` and `chip`; `observed` holds what an error text gives away, which counts for more
    than what a project or an environment says. Raises UsageError for a value that cannot be read.
    """
    said = ((options, OPTIONS), (configuration.target, CONFIGURATION), (observed or {}, OBSERVED))
    packages = [({name: text for name, text in versions.items() if name not in TARGET_KEYS}, source) for versions, source in said]
    asked = [one for versions, source in packages for one in given(versions, source)]
    root = _root(document.path)
    target = _resolved(root, (*asked, *(_installed(document) or _installed_before(document, root))))
    for versions, _ in reversed(said):
        target = with_mac(target, versions.get("memory", ""), known_chip(versions.get("chip", "")))
    if not (configuration.this_mac_only or configuration.stubs):
        return target
    return replace(target, is_only_machine=configuration.this_mac_only, stubs=configuration.stubs)


def base_target(path: str) -> Target:
    """Return the Target of a file as far as its content, options and configuration have no say: the same object for a whole project."""
    return _resolved(_root(path), ())


def _root(path: str) -> Path | None:
    return project_root(absolute(folder_of(path))) if path != STANDARD_INPUT else None


@remembered(maxsize=256)
def _resolved(root: Path | None, first: tuple[Requirement, ...]) -> Target:
    """Return the Target of a project: what is given, the project's own pins, the environment, and for the rest the newest that fits."""
    target = _with_this_mac(default_target())
    macos = target.choices[MACOS]
    own = [Requirement(MACOS, f"=={format_version(macos.version)}", macos.source)] if macos.source == THIS_MAC else []
    asked = (*first, *(project_requirements(root) if root is not None else ()), *own)
    found = resolved(target, asked, environment_versions())
    return replace(found, uninstallable=uninstallable(root)) if root is not None else found


def _installed(document: Document) -> list[Requirement]:
    """Return what a file installs itself, the last command first: in cells, in the lines of a script, or by its inline metadata."""
    found = installed_in(document)
    if document.kind in (Kind.SHELL, Kind.DOCKERFILE, Kind.MAKEFILE):
        found = list(commands(document.text, "the file"))[::-1]
    elif "# /// script" in document.text:
        found += script_header(document.text, "inline script metadata")
    return [*found, *(asserted(document.code, "an assert in the file") if document.kind in (Kind.PYTHON, Kind.NOTEBOOK) else ())]


def _installed_before(document: Document, root: Path | None) -> Sequence[Requirement]:
    """Return what the notebook that starts a script installs, where neither the script nor its project gives versions."""
    if document.kind is not Kind.PYTHON or document.path == STANDARD_INPUT or (root is not None and project_requirements(root)):
        return ()
    return pins_of_starters(absolute(folder_of(document.path))).get(os.path.basename(document.path), ())


def _with_this_mac(target: Target) -> Target:
    if platform.system() != "Darwin":
        return target
    version = platform.mac_ver()[0]
    target = with_versions(target, {"macos": version}, THIS_MAC) if version else target
    return with_mac(target, _sysctl("hw.memsize"), _sysctl("machdep.cpu.brand_string"))


@functools.lru_cache(maxsize=8)
def _sysctl(name: str) -> str:
    """Return what macOS says of the machine, as `with_mac` reads it; '' when it does not say."""
    text = printed_by([*SYSCTL, name], 2)
    return f"{int(text) >> 30}GB" if text.isdigit() else text if text.startswith("Apple M") else ""
