"""What other people's CI takes from this repository: the action does what it says, and the documented snippets are true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpslint import __version__
from mpslint.core.knowledge import parse_toml
from mpslint.report.formats import format_names
from tests.cli.test_cli import BAD, CLEAN
from tests.notebooks import notebook
from tests.warm_command import mpslint

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
PAGES = [ROOT / "README.md", ROOT / "docs" / "ci.md"]
COMMIT = next(iter(re.findall(r"uses: mpslint/mpslint@([0-9a-f]{40}) # \S", PAGES[1].read_text(encoding="utf-8"))), "none")
SCHEMAS = {"workflow": "vendor.github-workflows", "gitlab-ci": "vendor.gitlab-ci", "action": "vendor.github-actions"}


def snippets(mark: str) -> list[str]:
    """Return the YAML blocks of the pages that stand after a mark."""
    found = []
    for page in PAGES:
        found += re.findall(rf"<!-- {mark} -->\n```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return found


def assert_valid(kind: str, path: Path) -> None:
    """Assert that a file is valid by the schema of the service that reads it; nothing is fetched for it."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[kind], str(path)]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_and_the_workflows_are_valid() -> None:
    """By the schemas that editors use for them."""
    assert_valid("action", ROOT / "action.yml")
    for path in WORKFLOWS:
        assert_valid("workflow", path)


@pytest.mark.parametrize("path", [ROOT / "action.yml", *WORKFLOWS], ids=lambda path: path.stem)
def test_foreign_actions_are_pinned_by_commit(path: Path) -> None:
    """With the version beside it."""
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))

    assert used
    for line in used:
        assert line.partition(" # ")[0] == "./" or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_ci_runs_what_maintainers_run_on_every_python_and_system() -> None:
    """The Pythons of pyproject.toml, Linux and Apple silicon, and `.ci/run`."""
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["test"]
    classifiers = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    minor = [match.group(1) for text in classifiers if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))]

    assert job["strategy"]["matrix"]["python"] == minor
    assert {system.split("-")[0] for system in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos"}
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
@pytest.mark.parametrize("install", ["exit 1", "sleep 600"], ids=["no network", "no answer"])
def test_what_cannot_be_installed_is_one_line_and_fails_nothing(install: str, tmp_path: Path) -> None:
    """Neither pip nor npm nor apt-get gives anything, and the tests, lint and types still run and decide."""
    environment = tmp_path / ".venv" / "bin"
    for path, text in {
        tmp_path / ".ci" / "run": (ROOT / ".ci" / "run").read_text(encoding="utf-8"),
        tmp_path / "README.md": "<!-- test command -->\n```\ntrue && echo the tests ran\n```\n",
        environment / "python": f"#!/bin/sh\ncase $* in *install*) {install};; esac\n",
        environment / "ruff": "#!/bin/sh\n",
        environment / "mypy": "#!/bin/sh\n",
        **{tmp_path / "bin" / name: f"#!/bin/sh\n{install}\n" for name in ("npm", "apt-get", "sudo")},
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    named = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "MPSLINT_CI_LIMIT": "0.05"}
    done = subprocess.run(["bash", str(tmp_path / ".ci" / "run")], env=os.environ | named, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.endswith("the tests ran\n")
    missing = re.findall(r"^not to be had: (.*); its tests are skipped$", done.stdout, re.MULTILINE)
    assert len(missing) == len(set(missing)) == len(done.stdout.splitlines()) - 2
    assert {"jupyterlab", "lightning", "the npm packages of docs/try", "the .vsix of editors/vscode"} <= set(missing)


def test_the_documented_commit_is_one_of_this_repository() -> None:
    """With an action and hooks of its own, and every snippet names it."""
    history = ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", COMMIT, "HEAD"]
    if subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", COMMIT], capture_output=True).returncode:
        pytest.skip("the history isn't here")

    assert subprocess.run(history).returncode == 0
    assert set(re.findall(r"(?:mpslint@|rev: )(\S+?)(?=[\s\"])", PAGES[1].read_text(encoding="utf-8"))) == {COMMIT}
    for name in ("action.yml", ".pre-commit-hooks.yaml", "pyproject.toml"):
        assert subprocess.run(["git", "-C", str(ROOT), "cat-file", "-e", f"{COMMIT}:{name}"]).returncode == 0


@pytest.mark.parametrize("mark", ["workflow", "gitlab-ci"])
def test_documented_snippets_are_valid(mark: str, tmp_path: Path) -> None:
    """As files of the service that they are for."""
    found = snippets(mark)
    assert found
    for number, text in enumerate(found):
        path = tmp_path / f"{number}.yml"
        path.write_text(text)
        assert_valid(mark, path)


def test_documented_workflows_use_inputs_that_exist() -> None:
    """And are pinned by commit, all of them by the one that the page says."""
    for text in snippets("workflow"):
        steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"] if "mpslint" in step["uses"]]
        assert [step["uses"] for step in steps] == [f"mpslint/mpslint@{COMMIT}"]
        assert set(steps[0].get("with", {})) <= set(ACTION["inputs"])


def test_documented_inputs_are_those_of_the_action() -> None:
    """Each with its description and its default, in the same order."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    table = page.split("<!-- inputs -->\n")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" |")] for line in table]

    assert [(name.strip("`"), text, default.strip("`")) for name, text, default in rows] == [
        (name, data["description"], data["default"]) for name, data in ACTION["inputs"].items()
    ]


def test_documented_hooks_are_those_of_this_repository() -> None:
    """By their ids, pinned by commit; the arguments are ones that `mpslint check` takes."""
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    found = snippets("pre-commit")
    assert found
    for text in found:
        (repository,) = yaml.safe_load(text)["repos"]
        assert repository["rev"] == COMMIT
        for hook in repository["hooks"]:
            command = hooks[hook["id"]]["entry"].split()[1]
            options = [word for word in hook.get("args", []) if word.startswith("--")]
            shown = mpslint([command, "--help"], ROOT, os.environ).stdout.decode()
            assert all(re.search(rf"{option}\b", shown) for option in options), options


def test_the_formats_are_documented() -> None:
    """Each in the table."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `(\w+)` \|", page.split("## Formats")[1].split("\n## ")[0], re.MULTILINE)) == set(format_names())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with findings, and an `mpslint` command for the shell."""
    (tmp_path / "notebooks dir").mkdir()
    (tmp_path / "train.py").write_text(CLEAN)
    (tmp_path / "notebooks dir" / "bäd.ipynb").write_bytes(notebook("x = 1\n", BAD))
    (tmp_path / "mpslint.toml").write_text('select = ["MPS101"]\n')
    command = tmp_path / "temp" / "mpslint" / "bin" / "mpslint"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m mpslint "$@"\n')
    command.chmod(0o755)
    command.with_name("python").symlink_to(sys.executable)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/temp/\n")
    return tmp_path


def shell(script: str, project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as CI does."""
    path = f"{project / 'temp' / 'mpslint' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    files = {name: str(project / "temp" / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    bin_ = str(project / "temp" / "mpslint" / "bin")
    environment = {**os.environ, "PATH": path, "RUNNER_TEMP": str(project / "temp"), "BIN": bin_, "PIP_COMPILE": "0", **files, **variables}
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


def step(name: str) -> str:
    """Return the script of a step of the action."""
    (found,) = [one["run"] for one in ACTION["runs"]["steps"] if one.get("name") == name]
    return str(found)


def test_the_action_checks_annotates_and_writes_sarif(project: Path) -> None:
    """Paths one a line, with spaces; arguments over several lines; the exit code is that of the findings."""
    done = shell(
        step("Check"),
        project,
        PATHS="train.py\nnotebooks dir\n",
        ARGS="--severity warning\n--torch 2.14 --exclude 'old runs/*'\n",
        SARIF="true",
        SUMMARY="true",
        GITHUB_ACTIONS="true",
    )

    assert done.returncode == 1, done.stderr
    assert "notebooks dir/bäd.ipynb:cell 2:2:33  warning MPS101" in done.stdout
    assert re.search(r"^::warning file=notebooks dir/bäd\.ipynb,line=\d+", done.stdout, re.MULTILINE)
    assert "torch 2.14" in done.stdout
    outputs = dict(line.split("=", 1) for line in (project / "temp" / "GITHUB_OUTPUT").read_text().splitlines())
    assert outputs == {
        "exit-code": "1",
        "errors": "0",
        "warnings": "1",
        "notes": "0",
        "sarif-file": str(project / "temp" / "mpslint.sarif"),
    }
    assert "MPS101" in (project / "temp" / "GITHUB_STEP_SUMMARY").read_text()
    assert len(json.loads((project / "temp" / "mpslint.sarif").read_text())["runs"][0]["results"]) == 1


def test_the_action_passes_where_nothing_is_wrong(project: Path) -> None:
    """And writes no SARIF unasked."""
    done = shell(step("Check"), project, PATHS="train.py", ARGS="", SARIF="false", SUMMARY="false")

    assert done.returncode == 0, done.stderr
    assert not (project / "temp" / "mpslint.sarif").exists()


def test_the_action_works_with_paths_of_windows(project: Path) -> None:
    """Backslashes in the runner's folders, `Scripts` in place of `bin`, lines that end with carriage return and line feed."""
    runner = project / "D:\\a\\_temp"
    scripts = runner / "mpslint" / "Scripts"
    scripts.parent.mkdir(parents=True)
    (project / "temp" / "mpslint" / "bin").rename(scripts)
    variables = {"RUNNER_TEMP": str(runner), "BIN": str(scripts), "SARIF": "true", "SUMMARY": "true"}
    done = shell(step("Check"), project, PATHS="train.py\r\nnotebooks dir\r\n", ARGS="--exclude '/old/*'\r\n--torch 2.14\r\n", **variables)

    assert done.returncode == 1, done.stderr
    assert (runner / "mpslint.sarif").exists()
    assert "errors=0\nwarnings=1\n" in (project / "temp" / "GITHUB_OUTPUT").read_text()


def test_the_action_finds_the_scripts_of_windows(project: Path) -> None:
    """An environment that has `Scripts` and no `bin`."""
    python = project / "python"
    python.write_text('#!/bin/sh\nmkdir -p "$3/Scripts"\nprintf \'#!/bin/sh\\n\' > "$3/Scripts/python"\nchmod +x "$3/Scripts/python"\n')
    python.chmod(0o755)
    done = shell(
        step("Install mpslint"), project, PYTHON=str(python), VERSION="", ACTION="D:\\a\\action", RUNNER_TEMP=str(project / "other")
    )

    assert done.returncode == 0, done.stderr
    assert (project / "temp" / "GITHUB_OUTPUT").read_text() == f"bin={project / 'other' / 'mpslint' / 'Scripts'}\n"


def release_step(job: str, name: str) -> str:
    """Return the script of a step of the release."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"][job]["steps"]
    (found,) = [one["run"] for one in steps if one.get("name") == name]
    return str(found)


@pytest.mark.parametrize(("tag", "code"), [(f"v{__version__}", 0), ("v99.0", 1)])
def test_a_release_has_the_version_of_its_tag(project: Path, tag: str, code: int) -> None:
    """And a chapter in the change log."""
    for name in ("CHANGELOG.md", "mpslint/__init__.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_bytes((ROOT / name).read_bytes())

    assert (
        shell(release_step("build", "The tag is the version, and the change log has it"), project, GITHUB_REF_NAME=tag).returncode == code
    )


def test_a_release_publishes_the_site(project: Path) -> None:
    """As the only commit of the branch that GitHub Pages serves, whatever was there before."""
    (project / "dist").mkdir()
    (project / "site").mkdir()
    (project / "site" / "index.html").write_text("<p>mpslint</p>")
    subprocess.run(["tar", "czf", "dist/mpslint-site.tar.gz", "site"], cwd=project, check=True)
    subprocess.run(["git", "init", "--quiet", "--bare", "remote.git"], cwd=project, check=True)
    script = release_step("site", "Documentation and the page that runs mpslint")
    for tag in ("v1", "v2"):
        for left in (project / "site").rglob("*"):
            if left.name == ".git":
                shutil.rmtree(left)
        done = shell(script, project, REMOTE=str(project / "remote.git"), GITHUB_REF_NAME=tag)
        assert done.returncode == 0, done.stderr
    git = ["git", "--git-dir", str(project / "remote.git")]

    assert subprocess.run([*git, "log", "--format=%s", "gh-pages"], capture_output=True, text=True).stdout == "Documentation of v2\n"
    names = subprocess.run([*git, "ls-tree", "--name-only", "gh-pages"], capture_output=True, text=True).stdout.split()
    assert names == [".nojekyll", "index.html"]


def test_the_action_installs_its_own_repository(project: Path) -> None:
    """Into an environment of its own, so that the job's Python stays as it is."""
    done = shell(step("Install mpslint"), project, PYTHON=sys.executable, VERSION="", ACTION=str(ROOT), RUNNER_TEMP=str(project / "other"))

    assert done.returncode == 0, done.stderr
    version = subprocess.run([project / "other" / "mpslint" / "bin" / "mpslint", "--version"], capture_output=True, text=True, cwd="/")
    assert version.stdout == f"mpslint {__version__}\n"


def test_the_documented_commands_do_what_they_say(project: Path) -> None:
    """Those of GitLab's job, less the installation, and every command line of the page in its order."""
    (text,) = snippets("gitlab-ci")
    (job,) = yaml.safe_load(text).values()
    assert shell("\n".join(job["script"][1:]), project).returncode == 1
    rows: list[dict[str, Any]] = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [row["location"]["path"] for row in rows] == ["notebooks dir/bäd.ipynb"]

    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    codes = {line: shell(line, project, GITHUB_STEP_SUMMARY=str(project / "summary.md")).returncode for line in lines}
    assert codes == {line: 1 if "markdown" in line else 0 for line in lines}
    assert (project / "summary.md").read_text().startswith("<!-- mpslint -->")


def test_the_lowest_versions_are_tried_on_the_oldest_and_the_newest_python() -> None:
    """By the command that contributors have, which reads the versions from pyproject.toml."""
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    every = jobs["test"]["strategy"]["matrix"]["python"]
    lowest = jobs["lowest"]

    assert lowest["strategy"]["matrix"]["python"] == [every[0], every[-1]]
    assert 'bash .ci/lowest "$PYTHON"' in lowest["steps"][-1]["run"]
    script = (ROOT / ".ci" / "lowest").read_text(encoding="utf-8")
    assert not re.search(r"[\w-]+\s*==\s*\d", script)
    assert "`.ci/lowest 3.10`" in (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
