"""Models from their configuration alone: the table gives the published sizes, local folders come first,
nothing comes from the network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import knowledge_files, read_yaml
from mpslint.settings.families import load_families
from mpslint.verify.child.models import config_values, dropout_of, make_config, make_model
from mpslint.verify.spec import Lengths, RunSpec, Task

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def millions(model: str, task: Task, *, reduced: bool = False) -> float:
    """Return the parameters of a model in millions, built without memory for them."""
    spec = RunSpec(model, task, Lengths(8))
    return sum(p.numel() for p in make_model(spec, make_config(spec, reduced=reduced), "meta").parameters()) / 1e6


@pytest.mark.parametrize(
    ("model", "task", "published"),
    [
        ("google-t5/t5-small", "seq2seq_lm", 60.5),
        ("facebook/bart-base", "seq2seq_lm", 139.4),
        ("google/pegasus-xsum", "seq2seq_lm", 569.8),
        ("bert-base-uncased", "sequence_classification", 109.5),
        ("FacebookAI/roberta-base", "sequence_classification", 124.6),
        ("microsoft/deberta-v3-base", "sequence_classification", 184.4),
        ("gpt2", "causal_lm", 124.4),
        ("facebook/opt-350m", "causal_lm", 331.2),
        ("meta-llama/Llama-3.2-1B", "causal_lm", 1235.8),
        ("Qwen/Qwen2.5-0.5B", "causal_lm", 494.0),
        ("google/vit-base-patch16-224", "image_classification", 85.8),
        ("microsoft/resnet-50", "image_classification", 23.5),
        ("openai/whisper-tiny", "speech_seq2seq", 37.8),
        ("facebook/wav2vec2-base", "ctc", 94.4),
    ],
)
def test_the_table_gives_the_published_sizes(model: str, task: Task, published: float) -> None:
    """The number of parameters is the one that the publisher states."""
    assert millions(model, task) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize("model", ["t5-small", "bert-base-uncased", "gpt2", "Llama-3.2-1B", "whisper-tiny", "bart-base"])
def test_a_reduced_copy_is_small(model: str) -> None:
    """Two narrow layers of the same architecture have a few hundred thousand parameters."""
    task: Task = "speech_seq2seq" if "whisper" in model else "causal_lm" if model[0] in "gL" else "seq2seq_lm"
    assert millions(model, "masked_lm" if "bert" in model else task, reduced=True) < 1.0


def test_a_checkpoint_is_named_once() -> None:
    """No two families of the table know the same checkpoint."""
    names = [
        name.lower()
        for path in knowledge_files("platform/models")
        if path.stem != "tasks"
        for family in read_yaml(path).values()
        for name in family["checkpoints"]
    ]

    assert len(names) == len(set(names))
    assert len(names) > 60


def test_what_is_known_of_families_agrees_with_their_checkpoints() -> None:
    """The table that rules read and the one that models are built from name the same rates of dropout, and no length past the positions."""
    seen = 0
    for path in knowledge_files("platform/models"):
        for entry in read_yaml(path).values() if path.stem != "tasks" else ():
            for name, own in entry["checkpoints"].items():
                values, family = {**entry["defaults"], **own}, load_families().of_name(name)
                positions = values.get("n_positions") or values.get("max_position_embeddings")
                if family is None or not positions:
                    continue
                seen += 1
                assert {key: values[key] for key in family.dropout if key in values}.items() <= family.dropout.items(), name
                assert family.length is None or family.length <= positions, name
    assert seen > 40


def test_a_local_folder_comes_first(tmp_path: Path) -> None:
    """A folder with a config.json is read, whatever its name."""
    folder = tmp_path / "gpt2"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 3}))

    assert config_values(RunSpec(str(folder), "causal_lm", Lengths(8)))["n_layer"] == 3


def test_what_cannot_be_built_is_one_line(tmp_path: Path) -> None:
    """Unknown names, unknown architectures and tasks that an architecture does not have."""
    with pytest.raises(ReadError, match=r"hf download nobody/nothing config\.json"):
        config_values(RunSpec("nobody/nothing", "causal_lm", Lengths(8)))
    with pytest.raises(ReadError, match="is not understood by the installed transformers"):
        make_config(RunSpec("x", "causal_lm", Lengths(8), config={"model_type": "no-such-model"}))
    with pytest.raises(ReadError, match="has no model_type"):
        make_config(RunSpec("x", "causal_lm", Lengths(8), config={"n_layer": 1}))
    spec = RunSpec("gpt2", "image_classification", Lengths(8))
    with pytest.raises(ReadError, match="cannot be built for image_classification"):
        make_model(spec, make_config(spec), "meta")


def test_dropout_is_read_and_set() -> None:
    """A spec's dropout replaces that of the configuration, in every place."""
    assert dropout_of(make_config(RunSpec("gpt2", "causal_lm", Lengths(8)))) == 0.1
    assert dropout_of(make_config(RunSpec("gpt2", "causal_lm", Lengths(8), dropout=0.0))) == 0.0
