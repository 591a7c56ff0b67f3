"""Write the page that runs mpslint in the browser: `python docs/try_page.py FOLDER` (needs Node.js and hatchling).

The folder then holds the page, Pyodide (from npm, by `docs/try/package-lock.json`), mpslint and PyYAML: nothing is fetched from elsewhere.
Look at it with `python -m http.server --directory FOLDER`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "try"
STATIC = ("index.html", "style.css", "page.js", "worker.js", "check.py")
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
UNUSED = ("cli", "diagnose", "doctor", "jupyter", "run", "server", "verify")
"""Parts of mpslint that neither check nor fix imports."""
SAMPLES = ("summarization.ipynb", "pegasus_finetune.py")
WARM_UP = (*SAMPLES, "amp_loop.py", "launch.sh")
"""Checked before Python's memory is kept, so that what each kind of file needs is imported."""


def write_page(folder: Path) -> None:
    """Write the page with all that it needs into a folder. Raises CalledProcessError when npm, hatchling or Node.js fails."""
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    (folder / "samples").mkdir(exist_ok=True)
    pyodide = PAGE / "node_modules" / "pyodide"
    if not pyodide.is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefix", str(PAGE)], check=True)
    for name in STATIC:
        shutil.copy2(PAGE / name, folder / name)
    for name in PYODIDE:
        shutil.copy2(pyodide / name, folder / "pyodide" / name)
    for name in SAMPLES:
        shutil.copy2(ROOT / "samples" / name, folder / "samples" / name)
    with tempfile.TemporaryDirectory() as temporary:
        _pack(Path(temporary), folder)
    _write_service_worker(folder)


def _pack(temporary: Path, folder: Path) -> None:
    """Write the modules that the page runs as one archive: those of the wheel, and PyYAML without its C part; and a Python with them."""
    modules = temporary / "modules"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(temporary)]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with zipfile.ZipFile(next(temporary.glob("*.whl"))) as wheel:
        left_out = tuple(f"mpslint/{name}/" for name in UNUSED)
        wheel.extractall(modules, [name for name in wheel.namelist() if name.startswith("mpslint/") and not name.startswith(left_out)])
    shutil.copytree(Path(yaml.__file__).parent, modules / "yaml", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    samples = [str(ROOT / "samples" / name) for name in WARM_UP]
    outputs = [str(folder / "mpslint.zip"), str(PAGE / "check.py"), str(folder / "mpslint.snapshot")]
    subprocess.run(["node", str(PAGE / "pack.mjs"), str(modules), *outputs, *samples], check=True)


def _write_service_worker(folder: Path) -> None:
    """Write what keeps the page for use without a network: its files by name, under a version that changes with any of them."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "sw.js"]
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()
    text = (PAGE / "sw.js").read_text(encoding="utf-8")
    text = text.replace("{version}", f"mpslint-{digest[:16]}").replace('["{files}"]', json.dumps(["./", *names]))
    (folder / "sw.js").write_text(text, encoding="utf-8")


def main() -> int:
    """Write the page and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    try:
        write_page(parser.parse_args().folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"docs/try_page.py: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
