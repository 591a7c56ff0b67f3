"""Configuration files: whose they are is told by their keys, what they say is judged like Python, and fixes go where it is written."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from mpslint.engine import check
from mpslint.rewrite.apply import fix
from mpslint.rule.frameworks import names_framework
from mpslint.rule.loading import load_rules
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import Evidence, gather_evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.spell import edits_of, write_setting
from mpslint.source.document import Kind
from mpslint.source.reader import kind_of, read
from mpslint.target.target import default_target, with_versions

RULES = load_rules()


def evidence_of(text: str, name: str = "config.yaml", **versions: str) -> Evidence:
    """Return the evidence of a configuration file."""
    document = read(name, textwrap.dedent(text).encode())
    return gather_evidence(document, document.python, with_versions(default_target(), versions, "test"))


def plan_of(text: str, name: str = "config.yaml", **versions: str) -> TrainingPlan:
    """Return the one plan of a configuration file."""
    (plan,) = [plan for plan in evidence_of(text, name, **versions).plans if plan.kind == "config"]
    return plan


ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\n"
AXOLOTL = "base_model: m\nmicro_batch_size: 2\n"
FACTORY = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ndataloader_pin_memory: false\n"
TRL = "model_name_or_path: m\nuse_peft: true\n"
FLAT = "output_dir: out\nper_device_train_batch_size: 8\n"

SPELLINGS: list[tuple[str, str, Any]] = [
    (ACCELERATE + "use_cpu: true", "device.cpu_only", True), (ACCELERATE, "device.cpu_only", False), (ACCELERATE + "num_processes: 4", "distributed.devices", 4),
    (ACCELERATE, "distributed.strategy", None), ("distributed_type: NO\nnum_processes: 1", "distributed.strategy", None), ("distributed_type: MULTI_GPU\nnum_processes: 8", "distributed.strategy", "multi_gpu"),
    ("distributed_type: XLA\nnum_processes: 8", "distributed.strategy", None), (ACCELERATE + "mixed_precision: fp16", "precision.mixed", "fp16"), (ACCELERATE + "mixed_precision: no", "precision.mixed", "no"),
    (ACCELERATE, "precision.mixed", "no"), (ACCELERATE + "dynamo_config:\n  dynamo_backend: INDUCTOR", "compile.backend", "inductor"), (ACCELERATE + "dynamo_backend: INDUCTOR", "compile.backend", "inductor"),
    (ACCELERATE + "dynamo_config: {dynamo_backend: 'NO'}", "compile.backend", None), (AXOLOTL, "batch.train", 2), (AXOLOTL, "batch.accumulation", 1), (AXOLOTL + "bf16: auto", "precision.mixed", "bf16"),
    (AXOLOTL + "bf16: auto\nfp16: false", "precision.mixed", "no"), (AXOLOTL + "bf16: false\nfp16:", "precision.mixed", "no"), (AXOLOTL, "precision.mixed", "bf16"), (AXOLOTL + "sequence_len: 2048", "length.source", 2048),
    (AXOLOTL + "adapter: qlora", "model.adapter", "qlora"), (AXOLOTL + "adapter:", "model.adapter", "none"), (AXOLOTL, "model.adapter", "none"), (AXOLOTL + "load_in_4bit: true\nload_in_8bit: false", "model.bits", 4),
    (AXOLOTL + "flash_attention: true", "model.attention", "flash_attention_2"), (AXOLOTL + "attn_implementation: SDPA", "model.attention", "sdpa"), (AXOLOTL + "optimizer: AdamW_BNB_8bit", "optimizer.name", "adamw_bnb_8bit"),
    (AXOLOTL + "deepspeed: ds.json", "distributed.strategy", "deepspeed"), (AXOLOTL + "fsdp:\n  - full_shard\n  - auto_wrap", "distributed.strategy", "fsdp"), (AXOLOTL + "fsdp_config:\n  a: 1", "distributed.strategy", "fsdp"),
    (AXOLOTL + "gradient_checkpointing: offload", "memory.checkpointing", True), (AXOLOTL + "lora_dropout: 0.05", "model.lora_dropout", 0.05), (AXOLOTL + "sample_packing: true", "padding.packing", "fixed"),
    (AXOLOTL + "learning_rate: 2e-4", "optimizer.learning_rate", 2e-4), (FACTORY, "memory.checkpointing", True), (FACTORY + "disable_gradient_checkpointing: true", "memory.checkpointing", False),
    (FACTORY + "cutoff_len: 512", "length.source", 512), (FACTORY + "flash_attn: fa2", "model.attention", "fa2"), (FACTORY + "flash_attn: disabled", "model.attention", "eager"), (FACTORY, "model.quantizer", "bnb"),
    (FACTORY + "bf16: true", "precision.mixed", "bf16"), (FACTORY + "enable_liger_kernel: true", "model.liger", True), (FACTORY + "per_device_train_batch_size: 1", "batch.train", 1), (FACTORY, "batch.train", 8),
    (TRL + "bf16: false", "precision.mixed", "no"), (TRL + "max_length: 512", "length.source", 512), (TRL + "packing: true\npacking_strategy: wrapped", "padding.packing", "wrapped"), (FLAT + "fp16: true", "precision.mixed", "fp16"),
    (FLAT + "evaluation_strategy: epoch", "evaluation.strategy", "epoch"), ("model_name_or_path: m\nlearning_rate: 1e-4\ntf32: true", "precision.tf32", True), (TRL + "num_generations: 4", "generation.group_size", 4),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "value"), SPELLINGS, ids=[f"{n}:{t.splitlines()[-1][:40]}" for t, n, _ in SPELLINGS])
def test_spellings(text: str, name: str, value: Any) -> None:
    """Each key is a canonical setting; what is left out has the framework's default."""
    setting = plan_of(text).get(name)
    assert setting is not None

    assert setting.is_known
    assert setting.constant == value
    assert type(setting.constant) is type(value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (FLAT, "precision.mixed"),
        (TRL, "precision.mixed"),
        (FLAT + "fp16: ${FP16}", "precision.mixed"),
        (AXOLOTL + "bf16: !env BF16", "precision.mixed"),
        (FLAT, "loader.pin_memory"),
    ],
)
def test_what_a_file_does_not_decide_is_not_known(text: str, name: str) -> None:
    """A script may have other defaults than TrainingArguments; templates and tags are filled by somebody else."""
    setting = plan_of(text).get(name)

    assert setting is None or not setting.is_known


STRANGERS = {
    "workflow": "name: CI\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    env: {PYTORCH_MPS_HIGH_WATERMARK_RATIO: 0.0}\n",
    "torchtune": "device: cuda\nbatch_size: 16\nmodel:\n  _component_: torchtune.models.llama2.llama2_7b\ndtype: bf16\n",
    "mergekit": "base_model: m\nmerge_method: slerp\nslices: []\ndtype: bfloat16\n",
    "model card": "base_model: m\nlicense: mit\ndatasets_used: []\npipeline_tag: text-generation\n",
    "hydra": "trainer:\n  fp16: true\n  per_device_train_batch_size: 8\n",
    "inference": "model_name_or_path: m\ntemplate: llama3\ninfer_backend: vllm\nflash_attn: fa2\n",
    "sagemaker": "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: MULTI_GPU\nec2_instance_type: ml.p3\niam_role_name: x\nnum_processes: 8\n",
    "commented": "# base_model: m\n# micro_batch_size: 2\n# bf16: auto\nkey: value\n",
    "list": "- base_model: m\n  micro_batch_size: 2\n",
    "empty": "",
    "broken stranger": "a: {{ x }\ncuda: 1\n",
    "compose": "services:\n  web:\n    image: x\n",
}


@pytest.mark.parametrize("text", STRANGERS.values(), ids=STRANGERS)
def test_unknown_files_are_silent(text: str) -> None:
    """A file that no dialect knows says nothing, and is not even called unread."""
    checked = check(read("config.yaml", text.encode()), default_target(), RULES)

    assert checked.findings == ()
    assert checked.unread == ()


def test_commented_keys_are_silent() -> None:
    """LLaMA-Factory's examples keep whole sections as comments."""
    text = FACTORY + "flash_attn: auto\n# flash_attn: fa2\n# enable_liger_kernel: true\n\n### eval\n# eval_strategy: steps\n"

    assert check(read("sft.yaml", text.encode()), default_target(), RULES).findings == ()


def test_a_broken_file_that_matters_is_said() -> None:
    """One line with its place, for a file that looks like a configuration."""
    checked = check(read("config.yaml", (AXOLOTL + "bf16: [auto\nadapter: lora\n").encode()), default_target(), RULES)

    (unread,) = checked.unread
    assert unread.reason.startswith("not valid YAML: ")
    assert checked.document.place(unread.span.start).line == 4
    assert checked.findings == ()


def test_findings_stand_at_the_key_and_defaults_at_the_key_that_tells_the_file() -> None:
    """BOM, CRLF and letters of any language before it do not shift a place."""
    text = "# größe 😀\r\nbase_model: m\r\nname: 'é'\r\nload_in_8bit: true\r\nadapter: lora\r\nsequence_len: 8\r\n"
    checked = check(read("config.yaml", b"\xef\xbb\xbf" + text.encode()), default_target(), RULES)
    shown = {f.rule: checked.document.text[f.span.start : f.span.end] for f in checked.findings}

    assert shown["MPS555"] == "load_in_8bit: true"
    assert shown["MPS131"] == "base_model: m"


def test_each_document_is_a_run() -> None:
    """A file of two documents has two plans, each with its own settings."""
    evidence = evidence_of(AXOLOTL + "---\n" + FACTORY)

    assert [plan.title for plan in evidence.plans] == ["axolotl configuration", "LLaMA-Factory configuration"]
    assert evidence.plans[0].span is not None


def test_json_is_read_and_written() -> None:
    """The flat file of an HfArgumentParser as JSON."""
    text = '{\n    "output_dir": "out",\n    "per_device_train_batch_size": 8,\n    "tf32": true\n}\n'
    plan = plan_of(text, "train.json")

    assert plan.constant("precision.tf32") is True
    assert written(text, "evaluation.strategy", "no", "train.json") == text.replace(
        '"tf32": true\n', '"tf32": true,\n    "eval_strategy": "no"\n'
    )
    assert written(text, "precision.tf32", None, "train.json") == text.replace("true", "null")
    assert kind_of("train.json") is Kind.JSON


def test_environment_of_a_trl_file() -> None:
    """`env:` of a TRL file sets variables before the training."""
    evidence = evidence_of(
        TRL + "env:\n  PYTORCH_MPS_HIGH_WATERMARK_RATIO: '0.0'\n  OTHER: true\n  NONE:\n  NESTED: {a: 1}\n  REFERS: $X\n"
    )
    plan = evidence.plans[0]

    assert plan.constant("environment.high_watermark") == 0.0
    assert [write.name for write in evidence.facts.environment] == ["PYTORCH_MPS_HIGH_WATERMARK_RATIO", "OTHER", "NONE", "REFERS"]
    assert evidence.facts.environment[1].value.value == "true"  # type: ignore[union-attr]
    assert written(TRL + "env:\n  PYTORCH_MPS_HIGH_WATERMARK_RATIO: '0.0' # x\n", "environment.high_watermark", "1.7") == (
        TRL + "env:\n  PYTORCH_MPS_HIGH_WATERMARK_RATIO: '1.7' # x\n"
    )


def written(text: str, name: str, value: Any, file: str = "config.yaml", **versions: str) -> str | None:
    """Return a configuration file after a setting is written into it, None where that is refused."""
    evidence = evidence_of(text, file, **versions)
    plan = evidence.plans[0]
    result = write_setting(evidence, plan, None, name, value)
    if result is None:
        return None
    edits = edits_of(evidence, [result])
    assert evidence.document.write_back is not None
    return evidence.document.write_back(edits).decode() if edits is not None else None


WRITES: list[tuple[str, str, Any, str | None]] = [
    (AXOLOTL + "optimizer: 'adamw_8bit' # o\n", "optimizer.name", "adamw_torch", AXOLOTL + "optimizer: 'adamw_torch' # o\n"),
    (AXOLOTL, "optimizer.name", "adamw_torch", AXOLOTL + "optimizer: adamw_torch\n"),
    (AXOLOTL, "memory.empty_cache_steps", 10, None),
    (AXOLOTL + "load_in_4bit: True\n", "model.bits", None, AXOLOTL + "load_in_4bit: False\n"),
    (AXOLOTL + "flash_attention: true\nsdp_attention:\n", "model.attention", "sdpa", AXOLOTL + "flash_attention: false\nsdp_attention: true\n"),
    (ACCELERATE + "mixed_precision: fp16\n", "precision.mixed", "no", ACCELERATE + "mixed_precision: 'no'\n"),
    (ACCELERATE + 'mixed_precision: "fp16"\n', "precision.mixed", "no", ACCELERATE + 'mixed_precision: "no"\n'),
    (ACCELERATE, "compile.backend", "inductor", ACCELERATE + "dynamo_backend: inductor\n"),
    (ACCELERATE + "dynamo_config: {}\n", "compile.backend", "eager", ACCELERATE + "dynamo_config: {dynamo_backend: eager}\n"),
    (ACCELERATE + "dynamo_config: {dynamo_backend: INDUCTOR}\n", "compile.backend", None, ACCELERATE + "dynamo_config: {dynamo_backend: 'NO'}\n"),
    ("x: &x {fp16: true}\n" + FLAT + "<<: *x\n", "precision.mixed", "no", "x: &x {fp16: true}\n" + FLAT + "<<: *x\nfp16: false\n"),
    ("x: &x true\n" + FLAT + "fp16: *x\n", "precision.mixed", "no", "x: &x true\n" + FLAT + "fp16: false\n"),
    (FLAT + "fp16: &x true\ny: *x\n", "precision.mixed", "no", None),
    ("d: &d {dynamo_backend: INDUCTOR}\n" + ACCELERATE + "dynamo_config: *d\n", "compile.backend", None, None),
    (FLAT + "evaluation_strategy: steps\n", "evaluation.strategy", "no", FLAT + "evaluation_strategy: 'no'\n"),
    (FLAT, "evaluation.strategy", "no", FLAT + "eval_strategy: 'no'\n"),
    (TRL + "fp16: true\n", "precision.mixed", "no", TRL + "fp16: false\nbf16: false\n"),
    (FACTORY + "quantization_bit: 4\n", "model.bits", None, FACTORY + "quantization_bit: null\n"),
    (AXOLOTL + "load_in_4bit: true\n", "model.bits", 3, None),
    (AXOLOTL + "load_in_4bit: true\n", "model.bits", 8, AXOLOTL + "load_in_4bit: false\nload_in_8bit: true\n"),
    (AXOLOTL + "flash_attention: &x true\ny: *x\n", "model.attention", "sdpa", None),
    ("x: &x {sdp_attention: false}\n" + AXOLOTL + "flash_attention: true\n<<: *x\n", "model.attention", "sdpa", "x: &x {sdp_attention: false}\n" + AXOLOTL + "flash_attention: false\n<<: *x\nsdp_attention: true\n"),
    (AXOLOTL + "optimizer: adamw_torch\n", "optimizer.name", "adamw_torch", None),
    (AXOLOTL + "z: |+\n  x\n\n", "optimizer.name", "adamw_torch", None),
    (FLAT, "precision.mixed", "no", None),
    (ACCELERATE + "dynamo_config: x\ndynamo_backend: INDUCTOR\n", "compile.backend", None, ACCELERATE + "dynamo_config: x\ndynamo_backend: 'NO'\n"),
    (FLAT + "fp16:\n", "precision.mixed", "fp16", FLAT + "fp16: true\n"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "value", "new"), WRITES, ids=[f"{n}:{t.splitlines()[-1][:30]}" for t, n, _, _ in WRITES])
def test_settings_are_written_in_the_dialect_of_the_file(text: str, name: str, value: Any, new: str | None) -> None:
    """In place where the file says them, else by a key at the end; refused where other places would change with it."""
    assert written(text, name, value, transformers="4.57.0") == new


def test_a_key_that_versions_do_not_have_is_not_added() -> None:
    """`eval_strategy` came with transformers 4.41."""
    assert written(FLAT, "evaluation.strategy", "no", transformers="4.30.0") == FLAT + "evaluation_strategy: 'no'\n"


def test_fixes_of_one_file_go_together() -> None:
    """Several rules write into one file; comments, order and style stay, and nothing is left to do."""
    text = (
        "base_model: m # which\nload_in_4bit: true\nadapter: qlora\n\n# attention\nflash_attention: true\n\nbf16: auto\nfp16:\n"
        "sequence_len: 4096   # tokens\n"
    )
    document = read("config.yaml", text.encode())
    fixed = fix(document, default_target(), RULES, unsafe=True)

    assert fixed.data.decode() == (
        "base_model: m # which\nload_in_4bit: false\nadapter: lora\n\n# attention\nflash_attention: false\n\nbf16: false\nfp16:\n"
        "sequence_len: 4096   # tokens\nsdp_attention: true\n"
    )
    assert fixed.after.findings == ()
    again = fix(read("config.yaml", fixed.data), default_target(), RULES, unsafe=True)
    assert again.data == fixed.data


def test_a_line_with_a_comment_is_not_removed_safely() -> None:
    """Taking a key away would delete the comment beside it."""
    text = FACTORY + "use_unsloth: true  # faster\n"
    document = read("sft.yaml", text.encode())

    assert fix(document, default_target(), RULES).data == text.encode()
    assert fix(document, default_target(), RULES, unsafe=True).data == FACTORY.encode()


def test_a_key_that_others_use_is_not_removed() -> None:
    """The anchor would go with it."""
    document = read("sft.yaml", (FACTORY + "use_unsloth: &x true\ny: *x\n").encode())
    (finding,) = check(document, default_target(), RULES).findings

    assert finding.rule == "MPS559"
    assert finding.fix is None


def test_comments_silence_findings_of_a_file() -> None:
    """Beside the key, above it, or for the whole file."""
    for text in (
        FACTORY + "use_unsloth: true  # mpslint: ignore[MPS559] on the server\n",
        FACTORY + "# mpslint: ignore[MPS559]\nuse_unsloth: true\n",
        "# mpslint: ignore-file\n" + FACTORY + "use_unsloth: true\n",
    ):
        checked = check(read("sft.yaml", text.encode()), default_target(), RULES)
        assert checked.findings == ()
        assert [finding.rule for finding in checked.silenced] == ["MPS559"]


def test_every_recognised_file_passes_the_gate() -> None:
    """A word of every signature is in the byte test, so that no file that a dialect reads is dropped."""
    for pattern in load_dialects().configs:
        for word in pattern.words:
            assert names_framework(f"{word}: 1\n".encode())
        assert pattern.words
