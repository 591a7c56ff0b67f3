"""Scripts, configurations, logs and folders that benchmarks/growth.py measures."""

from __future__ import annotations

from growth_writers import ARGUMENTS, HEAD, Case, chain, config, files, joined, lines, same

CASES = (
    Case("shell", lines("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython train.py --fp16 True", ""), 1000, "case.sh"),
    Case("shell, nested blocks", lambda n: "if true; then\n" * n + "python train.py --fp16 True\n" + "fi\n" * n, 500, "case.sh"),
    Case("shell, one command", lambda n: "python train.py \\\n" + "  --fp16 True \\\n" * n + "  --end\n", 1000, "case.sh"),
    Case("shell, variables", lines("A#=$A\nA=${A#}x\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=$A#", ""), 500, "case.sh"),
    Case("shell, doubled variables", lines("A=$A$A", "A=xx\nexport PYTORCH_MPS_HIGH_WATERMARK_RATIO=$A\n"), 500, "case.sh"),
    Case("shell, comments", same("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 # mpslint: ignore[MPS701]", ""), 1000, "case.sh"),
    Case("Dockerfile", lines("ENV PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\nRUN python train.py --fp16 True", "FROM x\n"), 1000, "Dockerfile"),
    Case("environment file", lines("PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0", ""), 2500, ".env"),
    Case("YAML", config, 1000, "case.yaml"),
    Case("YAML, deep", lambda n: "fp16: true\n" + "".join(f"{' ' * i}a:\n" for i in range(n)) + " " * n + "b: 1\n", 200, "case.yaml"),
    Case("YAML, deep flow", lambda n: f"fp16: true\na: {'[' * n}{']' * n}\n", 200, "case.yaml"),
    Case(
        "YAML, aliases",
        lambda n: "fp16: true\na0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(n)),
        20,
        "case.yaml",
    ),
    Case(
        "YAML, merges",
        lambda n: "fp16: true\na0: &a0 {x: 1}\n" + "".join(f"a{i + 1}: &a{i + 1} {{<<: *a{i}, k{i}: 1}}\n" for i in range(n)),
        100,
        "case.yaml",
    ),
    Case("JSON, deep", lambda n: '{"fp16": true, "a": ' + "[" * n + "]" * n + "}", 5000, "case.json"),
    Case(
        "JSON, long",
        lambda n: '{"train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}' + "".join(f', "k{i}": {i}' for i in range(n)) + "}",
        10_000,
        "case.json",
    ),
    Case("shell, functions", lines("f#() {\n  python train.py --fp16 True\n}\nf#", ""), 700, "case.sh"),
    Case(
        "shell, cases",
        lambda n: "case $A in\n" + "".join(f"  a{i}) python train.py --fp16 True ;;\n" for i in range(n)) + "esac\n",
        700,
        "case.sh",
    ),
    Case(
        "shell, elif",
        lambda n: (
            "if [ $A = x ]; then\n  true\n"
            + "".join(f"elif [ $A = a{i} ]; then\n  python train.py --fp16 True\n" for i in range(n))
            + "fi\n"
        ),
        500,
        "case.sh",
    ),
    Case("shell, pipes", joined("x", "python train.py --fp16 True ", " | ", "", ""), 3000, "case.sh"),
    Case("shell, appended", lines('ARGS+=" --a# #"', 'ARGS="--fp16 True"\n'), 300, "case.sh"),
    Case("shell, one variable often", joined("$A", "A=" + "x" * 5000 + "\npython train.py --fp16 True --a ", "", "", ""), 2000, "case.sh"),
    Case(
        "shell, words of one variable often",
        joined("$A", 'A="' + "--a 1 " * 200 + '"\npython train.py --fp16 True ', " ", "", ""),
        200,
        "case.sh",
    ),
    Case("shell, variables in commands", lines("export A#=#\npython train.py --fp16 True --a $A#", ""), 700, "case.sh"),
    Case("Makefile", lines("t#:\n\tpython train.py --fp16 True", ""), 700, "Makefile"),
    Case("Makefile, variables", lines("A# = #\nexport B# = $(A#)\nt#:\n\tpython train.py --fp16 $(A#)", ""), 400, "Makefile"),
    Case("Makefile, conditions", lines("A# = #\nifeq ($(A#),1)\nB = #\nendif", "", "t:\n\tpython train.py --fp16 $(B)\n"), 400, "Makefile"),
    Case(
        "Makefile, tripled variables",
        chain("A# = $(A@)$(A@)$(A@)\nifeq ($(A#),b)\nB = $(A@)\nendif", "A0 = a\n", "t:\n\tpython train.py --fp16 $(A#)\n"),
        400,
        "Makefile",
    ),
    Case(
        "Makefile, one variable anew",
        chain("A0 = #\nA# = $(A@)\nifeq ($(A#),b)\nB = #\nendif", "A0 = a\n", "t:\n\tpython train.py --fp16 $(A#)\n"),
        400,
        "Makefile",
    ),
    Case(
        "Makefile, nested conditions",
        lambda n: "".join(f"ifeq ($(A),{i})\n" for i in range(n)) + "t:\n\tpython train.py --fp16 True\n" + "endif\n" * n,
        1000,
        "Makefile",
    ),
    Case("Dockerfile, variables", lines("ENV A#=# B#=$A#\nRUN python train.py --fp16 $A#", "FROM x\n"), 500, "Dockerfile"),
    Case("environment file, doubled", chain("A#=${A@}${A@}", "A0=x\nPYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\n"), 1500, ".env"),
    Case("YAML, list", lambda n: "fp16: true\na:\n" + "".join(f"  - {i}\n" for i in range(n)), 4000, "case.yaml"),
    Case("YAML, map", lambda n: "fp16: true\na:\n" + "".join(f"  k{i}: {i}\n" for i in range(n)), 3000, "case.yaml"),
    Case("YAML, interpolated", chain("a#: ${a@}${a@}", "fp16: true\nbase_model: x\ndatasets: []\na0: x\n"), 1500, "case.yaml"),
    Case("YAML, many lines of text", lambda n: "fp16: true\na: |\n" + "  cuda and fp16\n" * n, 10_000, "case.yaml"),
    Case("YAML, anchors", chain("a#: &b# {<<: *b@}", "fp16: true\na0: &b0 {x: 1}\n"), 400, "case.yaml"),
    Case(
        "TOML",
        lambda n: (
            "[tool.mpslint]\n[project]\nname = 'x'\ndependencies = ["
            + "".join(f"'p{i}==1.0', " for i in range(n))
            + "'torch==2.8']\n"
            + "".join(f"[tool.t{i}]\na = {i}\n" for i in range(n))
        ),
        1000,
        "pyproject.toml",
        ("check .",),
    ),
    Case(
        "lock",
        lambda n: (
            "version = 1\n"
            + "".join(f'[[package]]\nname = "p{i}"\nversion = "1.{i}"\n' for i in range(n))
            + '[[package]]\nname = "torch"\nversion = "2.8.0"\n'
        ),
        4000,
        "uv.lock",
        ("check .",),
    ),
    Case(
        "conda",
        lambda n: "name: x\ndependencies:\n" + "".join(f"  - p{i}=1.{i}\n" for i in range(n)) + "  - pytorch=2.5\n",
        2000,
        "environment.yml",
        ("check .",),
    ),
    Case(
        "setup",
        lambda n: (
            "from setuptools import setup\nsetup(install_requires=[" + "".join(f"'p{i}==1.0', " for i in range(n)) + "'torch==2.8'])\n"
        ),
        2000,
        "setup.py",
        ("check .",),
    ),
    Case("README", lines("```bash\npip install torch==2.#\npython train.py --fp16 True\n```", ""), 500, "README.md", ("check .",)),
    Case(
        "workflow",
        lambda n: (
            "on: push\njobs:\n"
            + "".join(f"  j{i}:\n    runs-on: macos-14\n    steps:\n      - run: python train.py --fp16 True\n" for i in range(n))
        ),
        200,
        ".github/workflows/ci.yml",
        ("check .",),
    ),
    Case(
        "services",
        lambda n: (
            "services:\n"
            + "".join(
                f"  s{i}:\n    image: x\n    environment:\n      A: {i}\n    command: python train.py --fp16 True\n" for i in range(n)
            )
        ),
        200,
        "docker-compose.yml",
        ("check .",),
    ),
    Case("INI", lines("[s#]\nfp16 = true\nbatch_size = #", ""), 1500, "case.ini", ("check .",)),
    Case("files", files("f#.py", f"{HEAD}args = {ARGUMENTS}\n"), 200, "", ("check .",)),
    Case("files without torch", files("f#.py", "x = #\n"), 1000, "", ("check .",)),
    Case("files in folders of their own", files("d#/f.py", f"{HEAD}args = {ARGUMENTS}\n"), 200, "", ("check .",)),
    Case(
        "files, each in a folder of the one before",
        lambda n: {f"{'d/' * (i % 50)}f{i}.py": f"{HEAD}args = {ARGUMENTS}\n" for i in range(n)},
        200,
        "",
        ("check .",),
    ),
    Case(
        "files, each imports one",
        files(
            "f#.py",
            "from f@ import x@\nx# = x@\n",
            {"f0.py": f"{HEAD}x0 = True\n", "g.py": f"{HEAD}from f40 import x40\nTrainingArguments('out', fp16=x40)\n"},
        ),
        50,
        "",
        ("check .",),
    ),
    Case(
        "files, all import one",
        files("f#.py", f"{HEAD}from common import FP16\nTrainingArguments('out', fp16=FP16)\n", {"common.py": "FP16 = True\n"}),
        100,
        "",
        ("check .",),
    ),
    Case(
        "one file imports all",
        lambda n: {
            **{f"f{i}.py": f"x{i} = True\n" for i in range(n)},
            "g.py": HEAD + "".join(f"from f{i} import x{i}\n" for i in range(n)) + "TrainingArguments('out', fp16=x0)\n",
        },
        200,
        "",
        ("check .",),
    ),
    Case("scripts that start one file", files("s#.sh", "python train.py --fp16 True --seed #\n"), 100, "", ("check .",)),
    Case(
        "requirements of requirements",
        files("requirements-#.txt", "-r requirements-@.txt\np#==1.0\n", {"requirements-0.txt": "torch==2.8\n"}),
        50,
        "",
        ("check .",),
    ),
    Case("configurations", files("c#.yaml", "fp16: true\nlearning_rate: 0.#\n"), 300, "", ("check .",)),
    Case("ignored files", lambda n: {".gitignore": "".join(f"/a{i}*b*.py\n" for i in range(n)), "a.py": "x = 1\n"}, 2000, "", ("check .",)),
    Case("stars", lambda n: {".gitignore": "*" * n + "b\n" + "*a" * n + "*b\n", "a" * 200 + ".py": "x = 1\n"}, 4000, "", ("check .",)),
    Case("requirements", lines("package-#==1.0", "torch==2.8\n"), 5000, "requirements.txt", ("check .",)),
    Case(
        "log",
        lines("RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 1 GB, max allowed: 6 GB)", ""),
        500,
        "train.log",
        ("diagnose",),
    ),
    Case("log, progress", lines("{'loss': 1.#, 'epoch': 0.1} 12%|  | #/100 [00:01<00:02]", ""), 2500, "train.log", ("diagnose", "report")),
    Case(
        "log, tracebacks",
        lines(
            'Traceback (most recent call last):\n  File "a.py", line #, in <module>\n    x.cuda()\n'
            "RuntimeError: Torch not compiled with CUDA enabled",
            "",
        ),
        500,
        "train.log",
        ("diagnose", "report"),
    ),
    Case("log, one line", lambda n: "x" * n + " MPS backend out of memory " + "1" * n, 50_000, "train.log", ("diagnose", "report")),
)
