"""Fine-tune PEGASUS on dialogue summaries, as many repositories do it: a Trainer written for one CUDA card.

    python pegasus_finetune.py --model google/pegasus-cnn_dailymail --output out
"""

import argparse

import torch
from datasets import load_dataset, load_from_disk
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainingArguments,
)

MAX_SOURCE = 1024
MAX_TARGET = 128


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="google/pegasus-cnn_dailymail")
    parser.add_argument("--data", default="", help="a folder saved by Dataset.save_to_disk, instead of SAMSum")
    parser.add_argument("--output", default="pegasus-samsum")
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("--max-steps", type=int, default=-1)
    return parser.parse_args()


def tokenize(tokenizer):
    def convert(batch):
        encoded = tokenizer(batch["dialogue"], max_length=MAX_SOURCE, truncation=True)
        labels = tokenizer(text_target=batch["summary"], max_length=MAX_TARGET, truncation=True)
        encoded["labels"] = labels["input_ids"]
        return encoded

    return convert


def evaluate_loss(model, dataset, collator):
    """The mean loss over a data set, by hand."""
    loader = DataLoader(dataset, batch_size=8, collate_fn=collator, num_workers=4, pin_memory=True)
    total, batches = 0.0, 0
    model.eval()
    with torch.no_grad():
        for batch in loader:
            batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
            total += model(**batch).loss.item()
            batches += 1
    return total / max(batches, 1)


def main():
    args = parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.model)
    dataset = load_from_disk(args.data) if args.data else load_dataset("knkarthick/samsum")
    columns = dataset["train"].column_names
    dataset = dataset.map(tokenize(tokenizer), batched=True, remove_columns=columns)
    collator = DataCollatorForSeq2Seq(tokenizer, model=model)

    training_args = TrainingArguments(
        output_dir=args.output,
        num_train_epochs=args.epochs,
        max_steps=args.max_steps,
        warmup_steps=500,
        per_device_train_batch_size=1,
        per_device_eval_batch_size=1,
        gradient_accumulation_steps=16,
        weight_decay=0.01,
        logging_steps=10,
        eval_strategy="steps",
        eval_steps=500,
        save_steps=1_000_000,
        fp16=True,
    )
    trainer = Trainer(
        model=model,
        args=training_args,
        processing_class=tokenizer,
        data_collator=collator,
        train_dataset=dataset["train"],
        eval_dataset=dataset["validation"],
    )
    trainer.train()
    print("test loss", evaluate_loss(model, dataset["test"], collator))
    model.save_pretrained(args.output)


if __name__ == "__main__":
    main()
