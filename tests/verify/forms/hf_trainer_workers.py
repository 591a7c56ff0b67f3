# expect: pass
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

def main():
    rows = [{"input_ids": [2] + list(range(6, 6 + 20)) + [3], "attention_mask": [1] * 22, "labels": i % 2} for i in range(64)]
    ds = Dataset.from_list(rows)
    model = BertForSequenceClassification(BertConfig(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32))
    args = TrainingArguments("out", per_device_train_batch_size=4, max_steps=30, dataloader_num_workers=4, report_to=[], save_strategy="no")
    Trainer(model, args, train_dataset=ds).train()

if __name__ == "__main__":
    main()
