"""Shell texts are read as the shell would run them, and their flags are written as the script writes flags."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mpslint.config.shell import read_shell
from mpslint.engine import check
from mpslint.facts.facts import Command
from mpslint.facts.values import Known
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.rule.suppression import ignores_for
from mpslint.settings.evidence import gather_evidence
from mpslint.settings.spell import edits_of, write_setting
from mpslint.source.reader import read
from mpslint.target.target import default_target

RULES = load_rules()
UNKNOWN = object()


def last(text: str) -> Command:
    """Return the last command of a text, or the script that it launches."""
    command = read_shell(text).commands[-1]
    return command.script or command


def flag(text: str, name: str) -> Any:
    """Return the value of a flag of the last command."""
    value = last(text).flags[name].value
    return value.value if isinstance(value, Known) else UNKNOWN


FLAGS = [
    ("python t.py --a 1", "1"), ("python t.py --a=1", "1"), ("python t.py --a", True), ("python t.py --a --b", True), ("python t.py --a 'x y'", "x y"), ("python t.py --a \"x\"", "x"),
    ("B=1\npython t.py --a $B", "1"), ("B=1\npython t.py --a=${B}", "1"), ("B='1 2'\npython t.py --a \"$B\"", "1 2"), ("python t.py --a $B", UNKNOWN), ("python t.py --a ${B:-3}", "3"),
    ("B=1\npython t.py --a ${B:-3}", "1"), ("B=${B:-3}\npython t.py --a $B", "3"), ("python t.py --a ${1:-3}", "3"), ("python t.py --a ${B-x}", "x"), ("python t.py --a ${B:?no}", UNKNOWN),
    ("python t.py --a ${B%.py}", UNKNOWN), ("python t.py --a ${B:-$(c)}", UNKNOWN), ("C=4\npython t.py --a ${B:-$C}", "4"), ("python t.py --a $(nproc)", UNKNOWN), ("python t.py --a `nproc`", UNKNOWN),
    ("python t.py --a $((1 + (2 * 3)))", "7"), ("python t.py --a $((1 << 3))", UNKNOWN), ("python t.py --a $1", UNKNOWN), ('python t.py --a "$(dirname "$0")"', UNKNOWN), ("A='--a 1 --b 2'\npython t.py $A", "1"),
    ('A="\n  --a 1 \\\n  --b 2 "\npython t.py $A', "1"), ("A=(--a 1 # c\n  --b 2)\npython t.py \"${A[@]}\"", "1"), ("A=(--b 1)\nA+=(--a 2)\npython t.py ${A[@]}", "2"), ("A='--b 1'\nA+=' --a 2'\npython t.py $A", "2"),
    ("if x; then B=1; else B=2; fi\npython t.py --a $B", UNKNOWN), ("if x; then B=1; python t.py --a $B; fi", "1"), ("for B in 1 2; do python t.py --a $B; done", UNKNOWN), ("f() {\n local B=1\n python t.py --a $B\n}", "1"),
    ("read B\npython t.py --a $B", UNKNOWN), ("V=(B=1 C=2)\nexport \"${V[@]}\"\npython t.py --a $B", "1"), ("B='x; y'\npython t.py --a \"$B\"", "x; y"), ("B='$C'\nC=1\npython t.py --a $B", "$C"), ("B=1\nunset B\npython t.py --a $B", UNKNOWN), ("cat <<EOF > x\npython t.py --a 2\nEOF\npython t.py --a 1", "1"), ("cat <<-'EOF'\n\t'\n\tEOF\npython t.py --a 1", "1"),
    ("cat <<< \"x\"\npython t.py --a 1", "1"), ("python t.py \\\n  --a 1 \\\n  --b 2 2>&1 | tee log", "1"), ("# python t.py --a 2\npython t.py --a 1 # --a 3", "1"), ("python t.py --a 1#2", "1#2"),
    ("python t.py --a $[1+2]", UNKNOWN), ("python t.py --a {x}", UNKNOWN), ("python t.py --a -1", "-1"), ("CUDA_VISIBLE_DEVICES=0 nohup python t.py --a 1 &", "1"), ("uv run --with torch python t.py --a 1", "1"),
    ("poetry run t.py --a 1", "1"), ("sudo -E env X=1 python t.py --a 1", "1"), ("case $1 in\n a) python t.py --a 1;;\nesac", "1"), ("A=\npython t.py $A --a 1", "1"), ("python t.py --a 1 --a-b 2 --a 3", "3"),
    ("while true; do\n  python t.py --a 1\ndone", "1"), ("B=1\r\npython t.py \\\r\n --a $B\r\n", "1"), ("B='1'2\"3\"\\4\npython t.py --a $B", "1234"), ("A='$B'\npython t.py --a \"$A\"", "$B"), ("select B in 1; do :; done; python t.py --a $B", UNKNOWN),
    ("function g { :; }\npython t.py --a 1", "1"), ("! python t.py --a 1", "1"), ("time python t.py --a 1", "1"), ("B=\"x\\\ny\"\npython t.py --a \"$B\"", "xy"), ("B=$UNSET\nB+=1\npython t.py --a $B", UNKNOWN),
]  # fmt: skip


def flags_of_pipe(text: str) -> dict[str, Any]:
    """Return the flags of the command that runs `t.py`."""
    found = next(c for c in reversed(read_shell(text).commands) if any(word.endswith("t.py") for word in c.words))
    return {name: one.value.value if isinstance(one.value, Known) else UNKNOWN for name, one in found.flags.items()}


@pytest.mark.parametrize(("text", "value"), FLAGS, ids=[text.replace("\n", "; ")[-40:] for text, _ in FLAGS])
def test_flags(text: str, value: object) -> None:
    """The value of `--a`, where the text itself decides it."""
    assert flags_of_pipe(text)["a"] == value


def test_words_that_assign_a_value_are_no_flags() -> None:
    """`yolo train device=0`: some programs take their settings so."""
    command = last('D=1\nyolo train data="a b.yaml" device=$D --a=2 x=')

    values = {name: one.value.value for name, one in command.assigned.items() if isinstance(one.value, Known)}
    assert values == {"data": "a b.yaml", "device": "1", "x": ""}
    assert list(command.flags) == ["a"]


LAUNCHES = [
    ("accelerate launch --multi_gpu --num_processes 8 t.py --a 1", ["multi_gpu", "num_processes"], ["a"]), ("accelerate launch t.py --cpu", [], ["cpu"]), ("torchrun --nproc_per_node=2 t.py", ["nproc_per_node"], []),
    ("torchrun --standalone $SCRIPT --a 1", ["standalone"], ["a"]), ("torchrun --nproc_per_node $N $SCRIPT --a 1", ["nproc_per_node"], ["a"]), ("python -m torch.distributed.run --nproc_per_node 2 -m pkg.mod --a 1", ["nproc_per_node"], ["a"]),
    ("python3 -m accelerate.commands.launch --cpu t.py --a 1", ["cpu"], ["a"]), ("S=t.py\naccelerate launch --config_file c.yaml $S --a 1", ["config_file"], ["a"]), ("accelerate launch --num_processes 2", ["num_processes"], None),
    ("/opt/bin/torchrun --nnodes 1 t.py", ["nnodes"], []), ("deepspeed --num_gpus 2 t.py --a 1", ["num_gpus"], ["a"]), ("accelerate launch -m --num_processes 2 pkg.mod --a 1", [], ["num_processes", "a"]),
    ("python -m deepspeed.launcher.runner --num_gpus 2 $S --a 1", ["num_gpus"], ["a"]), ("deepspeed --no_ssh_check $S --num_gpus 2", ["no_ssh_check"], ["num_gpus"]),
    ("deepspeed -i localhost:0,1 t.py -i b", ["include"], []), ("deepspeed -i=localhost:0 t.py", ["include"], []), ("deepspeed -H hosts $S", ["hostfile"], []), ("deepspeed -elocalhost:1 t.py", ["exclude"], []),
    ("accelerate-launch --multi_gpu t.py --a 1", ["multi_gpu"], ["a"]), ("eval 'torchrun --nproc_per_node 2 t.py --a 1'", ["nproc_per_node"], ["a"]),
    ("C='A=1 torchrun --nnodes 1 t.py --a 1 2>&1 | tee x'\neval $C", ["nnodes"], ["a"]), ('C="torchrun --nnodes 1 t.py --a 1"\neval "$C"', ["nnodes"], ["a"]),
    ('nohup bash -c "\n  cd a && torchrun --nnodes 1 t.py --a 1\n" &', ["nnodes"], ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "own", "script"), LAUNCHES, ids=[text[:40] for text, _, _ in LAUNCHES])
def test_launchers_and_their_scripts_have_flags_of_their_own(text: str, own: list[str], script: list[str] | None) -> None:
    """What stands before the script is the launcher's; options that take no value do not swallow the script."""
    command = read_shell(text).commands[-1]

    assert list(command.flags) == own
    assert (None if command.script is None else list(command.script.flags)) == script


ENVIRONMENT = [
    ("export A=1", [("A", "1", "shell")]), ("A=1", []), ("A=1\nexport A", [("A", "1", "shell")]), ("A=1 python t.py", [("A", "1", "inline")]), ("export A=1 B='2'", [("A", "1", "shell"), ("B", "2", "shell")]),
    ("set -a\nA=1", [("A", "1", "shell")]), ("set -o allexport\nA=1", [("A", "1", "shell")]), ("export A=$B", [("A", UNKNOWN, "shell")]), ("export A=${B:-1}", [("A", "1", "shell")]), ("export UNSET", []),
    ("declare -x A=1", [("A", "1", "shell")]), ("sudo A=1 python t.py", [("A", "1", "inline")]), ("#SBATCH -n 1\nexport A=1\ntorchrun t.py", [("A", "1", "shell")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "writes"), ENVIRONMENT, ids=[text.replace("\n", "; ") for text, _ in ENVIRONMENT])
def test_environment(text: str, writes: list[tuple[str, Any, str]]) -> None:
    """A variable reaches commands when it is exported, or written before one."""
    found = read_shell(text).environment

    assert [(w.name, w.value.value if isinstance(w.value, Known) else UNKNOWN, w.style) for w in found] == writes
    assert all(text[w.start : w.end].startswith(w.name) for w in found)


def test_a_command_finds_what_was_exported_and_what_stands_before_it() -> None:
    """By name, with its place; what another command was given, and what wasn't exported, is not there."""
    text = "export A=1\nB=2\nC=3 python a.py\nD=4 torchrun t.py"
    command = read_shell(text).commands[-1]

    assert {name: text[one.span.start : one.span.end] for name, one in command.variables.items()} == {
        "$A": "A=1",
        "$D": "D=4",
    }


@pytest.mark.parametrize("starter", ["mpirun -np 4 -x PATH", "horovodrun -np 4 -H localhost:4", "mpiexec -n 2"])
def test_what_starts_copies_of_a_script_leaves_it_its_flags(starter: str) -> None:
    """The script is told the same without it."""
    command = last(f"{starter} python t.py --a 1")

    assert (command.words, list(command.flags)) == (("python", "t.py"), ["a"])


@pytest.mark.parametrize(
    "text", ['eval "$1"', 'eval "echo \\"a b\\" --a 1"', "bash -c", "eval", "A='eval \"$A\"'\neval $A", "eval eval eval ''"]
)
def test_a_text_that_is_not_known_runs_nothing(text: str) -> None:
    """Nor does one with escapes, whose words another shell would make."""
    assert all("a" not in command.flags for command in read_shell(text).commands)


@pytest.mark.parametrize("head", ["#SBATCH --gres=gpu:4", "#PBS -l nodes=1", "#BSUB -n 4", "#$ -cwd"])
def test_scripts_for_a_queue_run_elsewhere(head: str) -> None:
    """What a cluster's scheduler starts does not run on a Mac."""
    assert read_shell(f"#!/bin/bash\n{head}\ntorchrun --nproc_per_node 4 t.py\n").commands == []


@pytest.mark.parametrize(
    "junk",
    ["$(" * 20_000, "$((a " * 10_000, "${a{" * 20_000, "'" * 9_999, '"' + "a" * 100_000, "`" * 9_999, "(((" * 9_999, "<<" * 9_999, "A=(" * 9_999, "\\\n" * 20_000, "A=x\n" + 'A="$A$A"\n' * 60 + "python t.py --a $A", "A='x y'\n" + 'A="$A $A"\n' * 60 + "python t.py $A", "A=${A:-${A:-${A:-${A:-x}}}}\npython t.py --a $A", "python t.py --a $A\n" * 5_000, "\x00\ufffd\ud800'"],
    ids=lambda junk: junk[:8],
)  # fmt: skip
def test_no_text_hangs(junk: str) -> None:
    """Unclosed quotes and variables that hold each other twice are read in linear time."""
    started = time.process_time()
    read_shell(junk)

    assert time.process_time() - started < 8


def written(text: str, name: str, value: Any, file: str = "run.sh") -> str | None:
    """Return a shell text after a setting is written into its first run, None where that is refused."""
    document = read(file, text.encode())
    evidence = gather_evidence(document, document.python, default_target())
    plan = next(plan for plan in evidence.plans if plan.kind == "command")
    result = write_setting(evidence, plan, None, name, value)
    if result is None:
        return None
    edits = edits_of(evidence, [result])
    assert edits is not None
    assert document.write_back is not None
    return document.write_back(edits).decode()


RUN = "python t.py --model_name_or_path m"
WRITES: list[tuple[str, str, Any, str | None]] = [
    (f"{RUN} --fp16 True # c\n", "precision.mixed", "no", f"{RUN} --fp16 False # c\n"),
    (f"{RUN} --fp16\n", "precision.mixed", "no", f"{RUN}\n"),
    (f"{RUN} \\\n  --fp16 \\\n  --seed 1\n", "precision.mixed", "no", f"{RUN} \\\n  --seed 1\n"),
    (f"{RUN} \\\n  --seed 1 \\\n  --fp16\n", "precision.mixed", "no", f"{RUN} \\\n  --seed 1\n"),
    (f"{RUN} --optim='adamw_8bit'\n", "optimizer.name", "adamw_torch", f"{RUN} --optim='adamw_torch'\n"),
    (f"{RUN} --per_device_train_batch_size 8\n", "batch.train", 4, f"{RUN} --per_device_train_batch_size 4\n"),
    (f"B=8 # size\n{RUN} --per_device_train_batch_size $B\n", "batch.train", 4, f"B=4 # size\n{RUN} --per_device_train_batch_size $B\n"),
    (f"B='8'\n{RUN} --per_device_train_batch_size=$B\n", "batch.train", 4, f"B='4'\n{RUN} --per_device_train_batch_size=$B\n"),
    (f"B=8\necho $B\n{RUN} --per_device_train_batch_size $B\n", "batch.train", 4, f"B=8\necho $B\n{RUN} --per_device_train_batch_size 4\n"),
    (f"{RUN} --per_device_train_batch_size ${{B:-8}}\n", "batch.train", 4, f"{RUN} --per_device_train_batch_size ${{B:-4}}\n"),
    (f"A='--fp16 True --seed 1'\n{RUN} $A\n", "precision.mixed", "no", f"A='--fp16 False --seed 1'\n{RUN} $A\n"),
    (f"A='--fp16 --seed 1'\n{RUN} $A\n", "precision.mixed", "no", f"A=' --seed 1'\n{RUN} $A\n"),
    (f"{RUN}\n", "batch.accumulation", 4, f"{RUN} --gradient_accumulation_steps 4\n"),
    (f"{RUN} \\\n    --seed 1 \\\n    --lr 2\necho\n", "batch.accumulation", 4, f"{RUN} \\\n    --seed 1 \\\n    --lr 2 \\\n    --gradient_accumulation_steps 4\necho\n"),
    (f"{RUN} \\\r\n    --seed 1\r\n", "batch.accumulation", 4, f"{RUN} \\\r\n    --seed 1 \\\r\n    --gradient_accumulation_steps 4\r\n"),
    ("python t.py --model_name_or_path=m --seed=1\n", "batch.accumulation", 4, "python t.py --model_name_or_path=m --seed=1 --gradient_accumulation_steps=4\n"),
    (f"{RUN} --seed 1\n", "loader.pin_memory", False, f"{RUN} --seed 1 --dataloader_pin_memory False\n"),
    (f"{RUN} --no_dataloader_pin_memory\n", "loader.pin_memory", True, f"{RUN}\n"),
    ("accelerate launch --mixed_precision fp16 t.py --model_name_or_path m\n", "precision.mixed", "no", "accelerate launch --mixed_precision no t.py --model_name_or_path m\n"),
    ("accelerate launch --cpu t.py\n", "device.cpu_only", False, "accelerate launch t.py\n"),
    ("accelerate launch t.py\n", "device.cpu_only", True, "accelerate launch --cpu t.py\n"),
    ("accelerate launch t.py\n", "device.cpu_only", False, None),
    ("accelerate launch t.py\n", "distributed.devices", 1, "accelerate launch --num_processes 1 t.py\n"),
    ("accelerate launch \\\n  --num_processes 4 \\\n  t.py --model_name_or_path m\n", "batch.accumulation", 4, "accelerate launch \\\n  --num_processes 4 \\\n  --gradient_accumulation_steps 4 \\\n  t.py --model_name_or_path m\n"),
    ("torchrun t.py\n", "distributed.strategy", None, None),
    (f"{RUN}\n", "model.device_map", "mps", None),
    (f"{RUN} --seed 1\n", "training.seed", 1, None),
    ("torchrun t.py\n", "distributed.strategy", "ddp", None),
    ("accelerate launch --multi_gpu t.py\n", "distributed.strategy", "weird", None),
    ("accelerate launch --num_machines 1 t.py --model_name_or_path m\n", "device.cpu_only", False, "accelerate launch --num_machines 1 t.py --model_name_or_path m --use_cpu False\n"),
    (f"{RUN} --optim x\n", "optimizer.name", "a b", f"{RUN} --optim 'a b'\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "value", "new"), WRITES, ids=[f"{n}:{t.splitlines()[-1][-30:]}" for t, n, _, _ in WRITES])
def test_flags_are_written_in_the_style_of_the_command(text: str, name: str, value: Any, new: str | None) -> None:
    """At the variable where it is only for this, on a line of its own where the others have one, taken away with its line end."""
    assert written(text, name, value) == new


def test_a_flag_whose_value_stands_elsewhere_says_where() -> None:
    """The finding is at the flag, with the line that decides the value."""
    text = "PROCS=4\nunused=1\ntorchrun --nproc_per_node $PROCS train.py\n"
    checked = check(read("run.sh", text.encode()), default_target(), RULES)

    (finding,) = checked.findings
    assert text[finding.span.start : finding.span.end] == "--nproc_per_node $PROCS"
    assert [text[r.span.start : r.span.end] for r in finding.related] == ["4"]
    assert finding.fix is not None
    assert finding.fix.summary == "1 in line 1"
    assert fix(checked.document, default_target(), RULES, unsafe=True).data.decode() == text.replace("=4", "=1")


def test_comments_silence_a_whole_command() -> None:
    """A comment above a command of several lines speaks for all of them, and is written above it."""
    text = "torchrun \\\n  --nproc_per_node 4 \\\n  train.py\n"
    document = read("run.sh", text.encode())
    findings = check(document, default_target(), RULES).findings
    edits = ignores_for(document, [("", [])], findings, "on the server")
    assert document.write_back is not None
    silenced = document.write_back(edits)

    assert silenced.decode() == f"# mpslint: ignore[MPS552] on the server\n{text}"
    assert check(read("run.sh", silenced), default_target(), RULES).findings == ()
    assert ignores_for(read("x.json", b"{}"), [], findings, "") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=4\npython t.py --batch $((A * 2))\n", "8"),
        ("A=4; B=$((${A}+$A))\npython t.py --batch $B\n", "8"),
        ("A=7\npython t.py --batch=$(( (A - 1) / 4 ))\n", "1"),
        ("python t.py --batch $((-7 / 2))\n", "-3"),
        (": ${A:=16}\npython t.py --batch $((A % 5))\n", "1"),
        ("A=$1\npython t.py --batch $((A * 2))\n", None),
        ("python t.py --batch $((1 / 0))\n", None),
        ("python t.py --batch $((2 ** 3))\n", None),
        ("python t.py --batch $(nproc)\n", None),
    ],
)
def test_arithmetic_is_computed_as_the_shell_does(text: str, value: str | None) -> None:
    """Whole numbers, rounded towards zero; what is not known makes the result not known."""
    flag = read_shell(text).commands[-1].flags["batch"]

    assert (flag.value.value if isinstance(flag.value, Known) else None) == value
