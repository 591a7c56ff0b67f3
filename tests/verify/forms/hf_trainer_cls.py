# expect: pass
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments
import numpy as np

model_name = "models/tiny-bert"
ds = load_dataset("json", data_files="data/train.jsonl", split="train").train_test_split(test_size=0.2, seed=1)
tokenizer = AutoTokenizer.from_pretrained(model_name)

def tok(batch):
    return tokenizer(batch["text"], truncation=True, max_length=48)

ds = ds.map(tok, batched=True, remove_columns=["text", "summary"])
model = AutoModelForSequenceClassification.from_pretrained(model_name, num_labels=2)

def compute_metrics(p):
    preds = np.argmax(p.predictions, axis=-1)
    return {"accuracy": float((preds == p.label_ids).mean())}

args = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, per_device_eval_batch_size=8, num_train_epochs=1,
    eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, logging_steps=5, report_to="none",
    dataloader_pin_memory=False,
)
trainer = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], processing_class=tokenizer,
                  data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=16), compute_metrics=compute_metrics)
trainer.train()
print(trainer.evaluate())
trainer.save_model("final")
