"""What the operating system's own commands say."""

from __future__ import annotations

from collections.abc import Sequence

SYSCTL = "/usr/sbin/sysctl", "-n"


def printed_by(command: Sequence[str], seconds: float = 5) -> str:
    """Return what a command of the system printed, or nothing when it failed or took too long."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
