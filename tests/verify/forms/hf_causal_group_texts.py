# expect: pass
from itertools import chain
from datasets import load_dataset
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator
raw = load_dataset("parquet", data_files={"train": "data/train.parquet"})
tok = AutoTokenizer.from_pretrained("./models/tiny-gpt2")
config = AutoConfig.from_pretrained("./models/tiny-gpt2")
model = AutoModelForCausalLM.from_config(config)
block = 32
def group(ex):
    cat = {k: list(chain(*ex[k])) for k in ex}
    n = len(cat["input_ids"]) // block * block
    r = {k: [t[i:i + block] for i in range(0, n, block)] for k, t in cat.items()}
    r["labels"] = r["input_ids"].copy()
    return r
ds = raw.map(lambda e: tok(e["text"]), batched=True, remove_columns=raw["train"].column_names).map(group, batched=True)
args = TrainingArguments(output_dir="clm", per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=2, logging_steps=10, report_to="none")
Trainer(model=model, args=args, train_dataset=ds["train"], data_collator=default_data_collator).train()
