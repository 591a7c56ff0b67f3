# expect: pass
import os
import pandas as pd
from datasets import Dataset
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

here = os.path.dirname(os.path.abspath(__file__))
df = pd.read_csv(os.path.join(here, "data", "train.csv"))
checkpoint = os.path.join(here, "models", "tiny-t5")
tokenizer = AutoTokenizer.from_pretrained(checkpoint)
model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
ds = Dataset.from_pandas(df).train_test_split(0.1)

def preprocess(ex):
    x = tokenizer(ex["text"], max_length=40, truncation=True)
    x["labels"] = tokenizer(text_target=ex["summary"], max_length=8, truncation=True)["input_ids"]
    return x

tokenized = ds.map(preprocess, batched=True, remove_columns=ds["train"].column_names)
args = Seq2SeqTrainingArguments("t5-out", learning_rate=2e-5, per_device_train_batch_size=4, per_device_eval_batch_size=4, num_train_epochs=1,
    predict_with_generate=True, generation_max_length=12, eval_strategy="epoch", report_to="none", fp16=False)

def metrics(p):
    preds, labels = p
    tokenizer.batch_decode(preds, skip_special_tokens=True)
    return {"gen_len": float((preds != 0).sum(1).mean())}

trainer = Seq2SeqTrainer(model=model, args=args, train_dataset=tokenized["train"], eval_dataset=tokenized["test"],
    data_collator=DataCollatorForSeq2Seq(tokenizer, model=model, pad_to_multiple_of=8), processing_class=tokenizer, compute_metrics=metrics)
trainer.train()
