"""A name for each finding that it keeps while its file changes around it: for baselines and for machines that follow findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mpslint.session.view import ShownFinding


def fingerprints(path: str, findings: Sequence[ShownFinding]) -> list[str]:
    """Return one fingerprint for each finding of a file, no two the same.

    It is made of the path, the rule and the text of the lines without their spaces, and counts where these are the same: it survives
    lines that move, cells that move and code that is indented, and changes with the lines themselves.
    """
    import hashlib

    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for finding in findings:
        key = finding.rule, finding.anchor
        parts = path, *key, str(seen[key])
        seen[key] += 1
        found.append(hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
    return found
