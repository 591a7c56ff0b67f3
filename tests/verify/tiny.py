"""`python -m tests.verify.tiny FOLDER`: writes tiny models with their tokenizers, and small data sets, for the forms to train on."""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

WORDS = "the cat sat on a mat and dog ran over hill to see big red house yes no maybe good bad film great awful".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "</s>"]
TOKENS = 64
CHAT = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} </s>{% endfor %}"


def write(folder: Path) -> None:
    """Write `models/` and `data/` into a folder."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(4, 40))) for _ in range(200)]
    _models(folder / "models", texts)
    data = folder / "data"
    data.mkdir()
    rows = [{"text": text, "label": int("good" in text), "summary": " ".join(text.split()[:3])} for text in texts]
    (data / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (data / "train.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    import pandas

    pandas.DataFrame(rows).to_parquet(data / "train.parquet")
    said = [[{"role": "user", "content": text}, {"role": "assistant", "content": text[:20]}] for text in texts]
    (data / "chat.jsonl").write_text("".join(json.dumps({"messages": turns}) + "\n" for turns in said))
    pairs = [{"prompt": text, "chosen": " good film", "rejected": " bad film"} for text in texts]
    (data / "pref.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))


def _models(folder: Path, texts: list[str]) -> None:
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=SPECIAL))
    marks = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>", model_max_length=64, **marks)
    tokenizer.chat_template = CHAT
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64}
    ends = {"pad_token_id": 0, "eos_token_id": 5}
    made = {
        "tiny-gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=TOKENS, n_positions=64, n_embd=16, n_layer=2, n_head=2, **ends)),
        "tiny-bert": BertForSequenceClassification(BertConfig(vocab_size=TOKENS, **small)),
        "tiny-llama": LlamaForCausalLM(LlamaConfig(vocab_size=TOKENS, num_key_value_heads=1, **small, **ends)),
        "tiny-t5": T5ForConditionalGeneration(
            T5Config(vocab_size=TOKENS, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0, **ends)
        ),
    }
    for name, model in made.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
