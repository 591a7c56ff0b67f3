"""Of a shell text only what a Mac may run is read."""

from __future__ import annotations

import pytest

from mpslint.config.makefile import read_makefile
from mpslint.config.shell import read_shell

TRAINS = "python train.py --fp16"

NOT_ON_A_MAC = [
    f'if [ "$(uname)" = "Linux" ]; then\n  {TRAINS}\nfi\n',
    f"if [[ $(uname -s) == Linux* ]]; then {TRAINS}; fi",
    f"if [[ `uname` != Darwin ]]; then {TRAINS}; fi",
    f'if [[ "$OSTYPE" == "darwin"* ]]; then\n  echo mac\nelse\n  {TRAINS}\nfi\n',
    f'if [[ "$OSTYPE" =~ ^linux ]]; then {TRAINS}; fi',
    f'if [[ "$(uname)" == "Darwin" ]]; then echo; elif true; then {TRAINS}; fi',
    f'OS="$(uname -s)"\nif [ "$OS" = Linux ]; then {TRAINS}; fi',
    f'case "$(uname -s)" in\n  Linux*) {TRAINS} ;;\n  Darwin*) echo ;;\nesac\n',
    f"case $(uname -m) in x86_64|amd64) {TRAINS};; esac",
    f'case "$OSTYPE" in darwin*) echo;; *) {TRAINS};; esac',
    f'[ "$(uname)" = "Linux" ] && {TRAINS}',
    f'[ "$(uname)" = "Darwin" ] || {TRAINS}',
    f'[[ "$(uname)" == "Linux" && -n "$GPU" ]] && {TRAINS}',
    f"command -v nvidia-smi >/dev/null 2>&1 && {TRAINS}",
    f"if command -v nvidia-smi &> /dev/null; then\n{TRAINS}\nfi",
    f"if nvidia-smi; then {TRAINS}; fi",
    f'if [ -x "$(command -v nvidia-smi)" ]; then {TRAINS}; fi',
    f"if [ -e /proc/driver/nvidia/version ]; then {TRAINS}; fi",
    f"if uname | grep -qi linux; then {TRAINS}; fi",
    f'if ! [ "$(uname)" = Darwin ]; then {TRAINS}; fi',
    f'if [ "$(uname)" = "Darwin" ]; then\n  echo "not on a Mac"\n  exit 1\nfi\n{TRAINS}\n',
    f"[ $(uname) = Linux ] || exit 1\n{TRAINS}",
    f"if [ $(uname) = Linux ]; then\n  for seed in 1 2; do\n    {TRAINS}\n  done\nfi\n",
    f'[[ $(uname) == Darwin ]] && {{ echo "not on a Mac"; exit 1; }}\n{TRAINS}',
    f"command -v nvidia-smi > /dev/null || {{\n  echo no GPU\n  exit 1\n}}\n{TRAINS}",
    f"[ $(uname) = Linux ] && {{ {TRAINS}; }}",
    f"[ $(uname) = Linux ] && {{ {TRAINS}; }} || echo no",
    f'gpus=$(nvidia-smi -L | wc -l)\nif [ "$gpus" -eq 0 ]; then exit 1; fi\n{TRAINS}',
    f"gpus=$(nvidia-smi -L 2>/dev/null | wc -l)\nif [[ $gpus -gt 0 ]]; then {TRAINS}; fi",
    f"if [ -n `nvidia-smi -L` ]; then {TRAINS}; fi",
    f"cuda=0\nif command -v nvidia-smi &> /dev/null; then cuda=1; fi\nif [ $cuda -eq 1 ]; then {TRAINS}; fi",
    f"set -e\nnvidia-smi\n{TRAINS}",
    f"set -euo pipefail\nnvidia-smi -L\n{TRAINS}",
    f"set -o errexit\nif true; then nvidia-smi; fi\n{TRAINS}",
    f'set -e\n[ "$(uname)" = Linux ]\n{TRAINS}',
    f'[[ "$(uname)" == Darwin ]] && exec bash other.sh\n{TRAINS}',
    f"exec bash other.sh\n{TRAINS}",
]
MAYBE_ON_A_MAC = [
    f'if [ "$(uname)" = "Darwin" ]; then {TRAINS}; fi',
    f'if [ "$(uname)" = "Linux" ]; then echo; else\n{TRAINS}\nfi',
    f'if [ "$1" = gpu ]; then {TRAINS}; fi',
    f'if [ -n "$CUDA_HOME" ]; then {TRAINS}; fi',
    f'if [ "${{SYSTEM:-Linux}}" = Darwin ]; then {TRAINS}; fi',
    f"case $1 in train) {TRAINS};; esac",
    f'case "$OSTYPE" in linux*) echo;; darwin*) {TRAINS};; esac',
    f"mkdir -p out && {TRAINS}",
    f"cd src || exit 1\n{TRAINS}",
    f"stop() {{\n  exit 1\n}}\n{TRAINS}",
    f'[ -z "$1" ] && exit 1\n{TRAINS}',
    f"[ $(uname) = Linux ] && apt-get update\n{TRAINS}",
    f"if [ -f .venv/bin/activate ]; then\n  . .venv/bin/activate\nfi\n{TRAINS}",
    f"for i in 1 2; do\n{TRAINS}\ndone",
    f"nvidia-smi\n{TRAINS}",
    f"nvidia-smi ||\n{TRAINS}",
    f"[ $(uname) = Linux ] && {{ exit 1; }}\n{TRAINS}",
    f"stop() {{ exit 1; }}\n{TRAINS}",
    f"function stop {{\n  exit 1\n}}\n{TRAINS}",
    f"if [ $(uname) = Linux ]; then\n  function f {{\n    echo\n  }}\nelse\n  {TRAINS}\nfi",
    f'[ -z "$1" ] && {{ echo usage; exit 1; }}\n{TRAINS}',
    f"[ $(uname) = Linux ] && {{ echo; }} || {{ {TRAINS}; }}",
    f'[ -n "$1" ] && {{ true; }} || {TRAINS}',
    f"if [ $(uname) = Linux ]; then echo; fi && {TRAINS}",
    f'gpus=$(nvidia-smi -L | wc -l)\nif [ "$gpus" -lt 2 ]; then {TRAINS}; fi',
    f"gpus=$(nvidia-smi -L || echo 1)\nif [ $gpus -gt 0 ]; then {TRAINS}; fi",
    f"if [ ${{GPUS:-0}} -gt 0 ]; then {TRAINS}; fi",
    f"set -e\nset +e\nnvidia-smi\n{TRAINS}",
    f"set -e\nnvidia-smi || true\n{TRAINS}",
    f"set -e\nnvidia-smi | head\n{TRAINS}",
    f"set -e\nif nvidia-smi; then echo; fi\n{TRAINS}",
    f"set -e\n! nvidia-smi\n{TRAINS}",
    f"set -e\n[ $(uname) = Linux ] && apt-get update\n{TRAINS}",
    f"set -x\nnvidia-smi\n{TRAINS}",
    f"set -e\nnvidia-smi() {{ :; }}\nnvidia-smi\n{TRAINS}",
    f"set -e\nfunction nvidia-smi {{\n  :\n}}\nnvidia-smi\n{TRAINS}",
    f"set -e\nshopt -s expand_aliases\nalias nvidia-smi=true\nnvidia-smi\n{TRAINS}",
    f"set -e\nexec > log.txt 2>&1\n{TRAINS}",
    f'[ -n "$1" ] && exec bash other.sh\n{TRAINS}',
    f"[ $(uname) = Linux ] && exec bash other.sh\n{TRAINS}",
]


def trains(text: str) -> bool:
    """Return whether a text runs the training."""
    return any("train.py" in command.words for command in read_shell(text).commands)


@pytest.mark.parametrize("text", NOT_ON_A_MAC)
def test_what_only_other_systems_run_is_not_read(text: str) -> None:
    """The branch of a test that fails on every Mac counts for nothing."""
    assert not trains(text)


@pytest.mark.parametrize("text", MAYBE_ON_A_MAC)
def test_what_a_mac_may_run_is_read(text: str) -> None:
    """Where it isn't certain, the command counts."""
    assert trains(text)


def test_the_branch_of_a_mac_decides_a_variable() -> None:
    """A variable is what the branch that a Mac takes says, and known as that."""
    text = 'if [ "$(uname)" = Darwin ]; then\n  ARGS="--cpu"\nelse\n  ARGS="--fp16"\nfi\npython train.py $ARGS\n'

    (command,) = read_shell(text).commands[-1:]

    assert set(command.flags) == {"cpu"}


@pytest.mark.parametrize(
    ("condition", "is_read"),
    [
        ("ifeq ($(shell uname),Linux)", False),
        ("ifneq ($(shell uname -s),Darwin)", False),
        ('ifeq "$(SYSTEM)" "Linux"', False),
        ("ifeq ($(SYSTEM), Darwin)", True),
        ("ifeq ($(OS),Windows_NT)", False),
        ("ifeq ($(GPU),1)", True),
        ("ifdef CUDA", True),
    ],
)
def test_a_condition_of_make_is_decided_as_on_a_mac(condition: str, is_read: bool) -> None:
    """What make leaves out on a Mac is no recipe and no assignment."""
    text = (
        f"SYSTEM := $(shell uname -s)\n{condition}\nexport PYTORCH_ENABLE_MPS_FALLBACK=1\ntrain:\n\t{TRAINS}\nelse\nother:\n\techo\nendif\n"
    )

    facts = read_makefile(text)

    assert any("train.py" in command.words for command in facts.commands) is is_read
    assert bool(facts.environment) is is_read


def test_a_recipe_asks_with_its_own_shell() -> None:
    """`$$(uname)` of a recipe is the shell's."""
    text = 'train:\n\tif [ "$$(uname)" = "Linux" ]; then python train.py --fp16; else python train.py --batch 4; fi\n'

    (command,) = [command for command in read_makefile(text).commands if "train.py" in command.words]

    assert set(command.flags) == {"batch"}
