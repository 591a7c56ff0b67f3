"""A Trainer that runs the same on a Mac and elsewhere: fixed shapes, full precision, metrics that keep no logits."""

import evaluate
import numpy as np
from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

MAX_LENGTH = 256

tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
metric = evaluate.load("accuracy")


def tokenize(batch):
    return tokenizer(batch["text"], truncation=True, max_length=MAX_LENGTH)


def compute_metrics(prediction):
    logits, labels = prediction
    return metric.compute(predictions=np.argmax(logits, axis=-1), references=labels)


def main():
    dataset = load_dataset("imdb").map(tokenize, batched=True)
    args = TrainingArguments(
        "out",
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        eval_strategy="epoch",
        eval_accumulation_steps=8,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=dataset["train"],
        eval_dataset=dataset["test"],
        data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=64),
        processing_class=tokenizer,
        compute_metrics=compute_metrics,
    )
    trainer.train()


if __name__ == "__main__":
    main()
