"""A report holds what a maintainer asks for, and nothing that says who or where its writer is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mpslint.cli import group
from mpslint.core.finding import Finding, Severity, Span
from mpslint.diagnose import Log, diagnose
from mpslint.diagnose.issue_report import IssueReport, RunMemory
from mpslint.diagnose.scrubbing import scrub
from mpslint.doctor import examine
from mpslint.doctor.machine import ThisMachine
from mpslint.report.issue import issue_body
from mpslint.verify.last import NAME, keep
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac as Mac

MAC = ThisMachine("Darwin", (15, 3), "Apple M2 Pro", "arm64", 16 * 1024**3, False, False, None)

SECRETS = [
    ("/Users/ann/code/train.py", "~/code/train.py"),
    ('File "/home/ann.lee/x.py", line 3', 'File "~/x.py", line 3'),
    ("C:\\Users\\ann\\x.py", "~\\x.py"),
    ("/Users/runner/work/pytorch", "/Users/runner/work/pytorch"),
    ("/var/folders/x1/abcdefghij1234567890/T/ipykernel_1/2.py", "<temporary>/T/ipykernel_1/2.py"),
    ("/Volumes/Anns Disk/data", "/Volumes/<volume>/data"),
    ("login(token='hf_abcdefghijklmnopqrstuvwx')", "login(token='<token>')"),
    ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "HF_TOKEN=<token>"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ", "<token>"),
    ("github_pat_11ABCDEFG0123456789_abcdefghijk", "<token>"),
    ("OPENAI: sk-proj-abcdefghijklmnopqrstuvwx", "OPENAI: <token>"),
    ("AKIAABCDEFGHIJKLMNOP", "<token>"),
    ("Authorization: Bearer abc.def-ghi123", "Authorization: <token> <token>"),
    ("curl -H 'bearer abcdefghijkl'", "curl -H 'bearer <token>'"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "WANDB_API_KEY=<token>"),
    ('"password": "hunter22"', '"password": "<token>"'),
    ("https://ann:secret@git.example.org/x", "https://<user>@git.example.org/x"),
    ("mail ann.lee@example.org please", "mail <mail> please"),
    ("ann@Anns-MacBook train %", "<user>@<host> train %"),
    ("(pid=12, ip=10.0.0.17)", "(pid=12, ip=<address>)"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdEFGH", "<token>"),
]

R = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
"""Stands for the random part of a token, so that no scanner takes this file for one that holds secrets."""
HEX = "0123456789abcdef"
LEAKS = [
    *(
        f"the key is {prefix}{R}"
        for prefix in (
            "AS" + "IA",
            "AB" + "IA",
            "np" + "m_",
            "gs" + "k_",
            "r" + "8_",
            "sk_" + "live_",
            "rk_" + "live_",
            "sk_" + "test_",
            "ya" + "29.",
            "SG" + ".",
            "wandb" + "_v1_",
            "xoxb-1-2-",
            "xapp-1-",
            "dop" + "_v1_",
            "shpat" + "_",
            "lin" + "_api_",
            "pul" + "-",
            "hvs" + ".",
            "glsa" + "_",
            "GOCSPX" + "-",
            "nvapi" + "-",
            "xai" + "-",
            "pplx" + "-",
            "dckr" + "_pat_",
            "rubygems" + "_",
            "tskey" + "-auth-",
            "sntrys" + "_",
            "figd" + "_",
            "sk-" + "ant-api03-",
            "glrt" + "-",
            "whsec" + "_",
            "PMAK" + "-",
            "dp.st" + ".",
            "AIza" + "Sy",
            "LTAI",
            "api" + "_org_",
        )
    ),
    f"wandb: using {HEX}{HEX}01234567",
    f'{{"username": "ann", "key": "{HEX}{HEX}"}}',
    f"-----BEGIN RSA PRIVATE KEY-----\n{R}{R}\n{R}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{R}{R}",
    f"{R}{R}\n{R}==\n-----END PRIVATE KEY-----",
    f"https://hooks.slack.com/services/T000/B000/{R}",
    f"https://discord.com/api/webhooks/123456/{R}",
    f"https://account.blob.core.windows.net/c?sv=2022&sig={R}%3D",
    f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={R}==;EndpointSuffix=y",
    f"Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey={R}=",
    f"https://b.s3.amazonaws.com/k?X-Amz-Credential=c&X-Amz-Signature={R}",
    f"https://api.example.org/v1?key={R}",
    f"curl -u ann:{R} https://x.example",
    f"curl --user 'ann:{R}' https://x.example",
    f"Cookie: session={R}; other=1",
    f"Set-Cookie: sid={R}; Path=/",
    f"mysql://x?pwd={R}",
    f"Server=x;Uid=ann;Pwd={R};",
    f"python train.py --token {R}",
    f"python train.py --api-key={R}",
    f"python train.py --password {R.lower()}",
    f'password = "two words {R}"',
    f"password: 'two words {R}'",
    f'{{\\"api_key\\": \\"{R}\\"}}',
    f"os.environ['MY_SERVICE_KEY'] = '{R}'",
    f'os.environ.setdefault("HF_TOKEN", "{R}")',
    f"machine api.example.org login ann password {R}",
    f"redis://:{R}@cache:6379/0",
    f"Authorization: Basic {R}==",
    f"ssh-ed25519 AAAA{R}{R} ann@host",
    f"123456789:AA{R}",
    f"aws_secret_access_key = {R}/{R[:7]}",
    f"found {R}{R} in the cache",
    f"client_secret={R}",
    f"secret => '{R}'",
]
"""Texts of which nothing of R or HEX may be left."""
PERSONS = [
    ("/Users/First Last/train.py", "First"), ("/Users/First Last/train.py", "Last"), ("C:\\Users\\zoe\\x.py", "zoe"),
    ("C:\\\\Users\\\\zoe\\\\x.py", "zoe"), ("C:/Users/zoe/x.py", "zoe"), ("/c/Users/zoe/x.py", "zoe"), ("/var/home/zoe/x.py", "zoe"),
    ("/export/home/zoe/x.py", "zoe"), ("/home2/zoe/x", "zoe"), ("file:///Users/zoe/x", "zoe"), ("/mnt/c/Users/zoe/x", "zoe"),
    ("at 2a00:1450:4001:0:0:8a2e:370:7334", "8a2e"), ("at fe80::1ff:fe23:4567:890a%en0", "4567"), ("ether 3c:22:fb:12:34:56", "3c:22"),
    ("zoes-macbook-pro.local", "zoes"), ("gpu7.cluster.internal:8080", "gpu7"), ("\\\\fileserver\\share\\x", "fileserver"),
    ("git@github.com:quxor/train.git", "quxor"), ("ssh://git@gitlab.com/quxor/x.git", "quxor"), ("zoe@gpu-7: ~", "zoe"), ("From: Zoe <zoe.q@mail.example.org>", "zoe"), ("/scratch/zoe/run", "zoe"), ("/media/zoe/Disk One/x", "Disk"),
]  # fmt: skip
"""A text, and a part of it that says who or where somebody is; `zoe` is the user's name."""

HARMLESS = [
    "MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB).",
    "tokens/s 1234.5, tokenizer: T5TokenizerFast, max_new_tokens=1024, pad_token=eos_token",
    "commit hash 2236df1770800ffea5697b11b0bb0d910b2e59e1",
    "torch 2.15.0, transformers 5.23.0, macOS 15.3.1",
    "step=50 | live_tensors=4.20 GiB | driver=12.3 GiB",
    "@torch.no_grad() def f(x): return x @ y",
    "2026-11-22 12:34:56,789 epoch 1/3 lr 5e-05, 0x7f8e1c2d, 00:12:34 left",
    "c10::Error, at::native::mps, x[a::b], std::vector<at::Tensor>, _ZN2at6native12_GLOBAL__N_117mps_linear_nographERKNS_6TensorES4_",
    "eos_token_id=50256, pad_token: <pad>, bos_token='<s>', token_type_ids, secrets.yaml, key=lambda row: row.size",
    "models--google--pegasus-xsum/snapshots/2236df1770800ffea5697b11b0bb0d910b2e59e1/config.json",
    "TrainingArguments(per_device_train_batch_size=8, hub_token=None, push_to_hub=False)",
    "https://github.com/pytorch/pytorch/issues/141287",
    "BertForSequenceClassification.forward, sk_learn_style_interface, LlamaFlashAttention2, F.scaled_dot_product_attention",
    "| pass | basic training works: as rewritten: PASS |",
    "MTLCommandBuffer failed: error 12, kIOGPUCommandBufferCallbackErrorOutOfMemory",
    "127.0.0.1 and 0.0.0.0 and threading.local()",
]


@pytest.mark.parametrize(("text", "scrubbed"), SECRETS)
def test_secrets_are_taken_out(text: str, scrubbed: str) -> None:
    """Names in paths, tokens of all kinds, passwords, mail and network addresses do not leave."""
    assert scrub(text) == scrubbed


@pytest.mark.parametrize("text", LEAKS)
def test_nothing_of_a_secret_is_left(text: str) -> None:
    """Whatever form a secret has, no eight characters of it stay; nor where it stands inside a line, a table or quotes."""
    for around in ("{}", "| {} |", 'x("{}") # y', "  > {}\n"):
        left = scrub(around.format(text))

        assert not [start for start in range(len(R) - 7) if R[start : start + 8] in left or R.lower()[start : start + 8] in left], left
        assert HEX not in left


@pytest.mark.parametrize(("text", "part"), PERSONS)
def test_nobody_is_named(text: str, part: str) -> None:
    """Paths, hosts, addresses and mail do not say who or where."""
    assert part.lower() not in scrub(text, ("zoe",)).lower()


def test_the_home_folder_is_a_tilde_wherever_it_is() -> None:
    """A home folder outside of the usual places goes too."""
    assert scrub("/srv/people/zq/x.py and /srv/people/zq2", home="/srv/people/zq") == "~/x.py and /srv/people/zq2"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_a_maintainer_needs_stays(text: str) -> None:
    """Numbers, versions, hashes and code are left as they are."""
    assert scrub(text) == text


def test_names_are_taken_out_wherever_they_stand() -> None:
    """The user's and the machine's name go too, unless they are so short that words would go with them."""
    assert scrub("annalee ran on Anns-Mac-mini as annalee2", ("annalee", "Anns-Mac-mini")) == "<name> ran on <name> as annalee2"
    assert scrub("al allocated", ("al",)) == "al allocated"


@given(st.text() | st.sampled_from([text for text, _ in SECRETS]))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    """What is scrubbed is clean."""
    assert scrub(scrub(text)) == scrub(text)


def test_a_full_report(tmp_path: Path) -> None:
    """Diagnosis, environment, findings and the memory of runs stand in it, scrubbed."""
    log = Log("/Users/zuleika/train.log", 'File "/Users/zuleika/t.py", line 3\nRuntimeError: Placeholder tensor is empty!')
    finding = Finding("MPS301", "dynamic-padding", Severity.WARNING, "Shapes vary.", Span(0, 1))
    report = IssueReport(
        examination=examine(ask_torch=False, machine=MAC, packages={"torch": "2.13.0"}, environ={"DISABLE_MPS": "1"}, home=tmp_path),
        diagnosis=diagnose(log),
        findings=(("/Users/zuleika/train.ipynb, cell 12, line 7", finding),),
        runs=(RunMemory("as written", "emulated", 200, (1 << 30, 2 << 30), "3.0 GiB to 16.0 GiB", 4 << 30),),
        tail="the | end\n```",
        names=("zuleikas-mac",),
    )

    body = issue_body(report)

    assert "zuleika" not in body
    assert "| torch | 2.13.0 |" in body
    assert "| system | macOS 15.3 |" in body
    assert "| DISABLE_MPS | 1 |" in body
    assert "`placeholder-empty` (error), ~/train.log, line 2" in body
    assert "- ~/train.ipynb, cell 12, line 7: warning MPS301 dynamic-padding: Shapes vary." in body
    assert "| as written | emulated | 200 | 1.00 GiB to 2.00 GiB | 3.0 GiB to 16.0 GiB | 4.00 GiB |" in body
    assert body.count("```") % 2 == 0


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is printed or written; the end of the log is in it only when mpslint does not know the text."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    known, unknown = tmp_path / "known.log", tmp_path / "unknown.log"
    known.write_text("loss 0.1\nRuntimeError: Placeholder tensor is empty!\n")
    unknown.write_text("loss 0.1\n\x1b[31mOddError\x1b[0m: token=hf_abcdefghijklmnopqrstuvwx\n")
    written = tmp_path / "issue.md"
    runner = CliRunner()

    printed = runner.invoke(group, ["report", str(known), "--no-torch"])
    saved = runner.invoke(group, ["report", "-", "--no-torch", "-o", str(written)], input=unknown.read_bytes())
    bare = runner.invoke(group, ["report", "--no-torch"])

    assert printed.exit_code == 0
    assert "placeholder-empty" in printed.output
    assert "End of the log" not in printed.output
    assert saved.exit_code == 0
    assert saved.output == f"mpslint: wrote {written}. Nothing was sent; read it before you post it.\n"
    assert "OddError: token=<token>" in written.read_text()
    assert "End of the log" in written.read_text()
    assert bare.exit_code == 0
    assert "## Environment" in bare.output
    assert "## Diagnosis" not in bare.output


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    """A folder is no place for a report."""
    result = CliRunner().invoke(group, ["report", "--no-torch", "-o", str(tmp_path)])

    assert result.exit_code != 0
    assert "cannot be written" in str(result.exception)
    assert json.dumps(str(tmp_path))[1:-1] in str(result.exception)


def test_the_last_verify_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts of its runs, first and last step; what was not measured is a question mark. Without one, the part is not there."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    before = CliRunner().invoke(group, ["report", "--no-torch"]).output
    steps = (StepRecord(1, live=1 << 30, peak=2 << 30, driver=-1), StepRecord(2, live=3 << 30, peak=5 << 30, driver=-1))
    keep([VerifyReport("train.py", Mac(), runs=(RunResult("as written", "emulated", steps),))])
    after = CliRunner().invoke(group, ["report", "--no-torch"]).output
    (tmp_path / "mpslint" / "results" / NAME).write_text("[1]")
    broken = CliRunner().invoke(group, ["report", "--no-torch"]).output

    assert "| train.py, as written | emulated | 2 | 1.00 GiB to 3.00 GiB | ? to ? | 5.00 GiB |" in after
    assert "## Memory" not in before
    assert "## Memory" not in broken


def test_a_script_is_reported_by_its_findings_and_settings(tmp_path: Path) -> None:
    """README says: findings, settings and versions, and not the source."""
    path = tmp_path / "train.py"
    path.write_text(
        "from transformers import TrainingArguments, Trainer\nSECRET_IDEA = 'nobody may read this line'\n"
        "args = TrainingArguments('out', fp16=True, per_device_train_batch_size=96)  # our own trick\nTrainer(None, args).train()\nx = model.cuda()\n"
    )
    result = CliRunner().invoke(group, ["report", str(path), "--no-torch"])

    assert result.exit_code == 0
    assert "train.py, line 5: error MPS501" in result.output
    assert "| Trainer | batch.train | 96 | train.py:3 |" in result.output
    assert str(tmp_path) not in result.output
    assert "| mpslint |" in result.output
    assert "nobody may read" not in result.output
    assert "our own trick" not in result.output
    assert "End of the log" not in result.output


def test_a_secret_is_not_cut_in_two(tmp_path: Path) -> None:
    """A token at the place where the log is cut is taken out whole."""
    path = tmp_path / "x.log"
    for length in range(5_940, 6_010, 3):
        path.write_text(f"Traceback\nhf_{R}" + " x" * (length // 2) + "\nOddError: odd\n")
        output = CliRunner().invoke(group, ["report", str(path), "--no-torch"]).output
        assert not [start for start in range(len(R) - 7) if R[start : start + 8] in output]


def test_a_run_without_end_is_counted() -> None:
    """No pattern goes again and again over a run of characters that no log needs."""
    assert scrub("a" * 100_000 + " end") == "<100000 characters> end"


def test_a_mistake_of_mpslint_s_own_is_what_the_report_is_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` says that `mpslint report FILE` prints what to send: the same mistake doesn't end that."""

    def breaks(*_: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr("mpslint.session.session.check_file", breaks)
    file = tmp_path / "train.py"
    file.write_text("import torch\n")
    done = CliRunner().invoke(group, ["report", str(file), "--no-torch"])

    assert done.exit_code == 0
    assert "## A mistake in mpslint" in done.stdout
    assert "KeyError: 'oh'" in done.stdout
