# expect: pass; requires trl
from datasets import load_dataset
from trl import SFTTrainer, SFTConfig
dataset = load_dataset("json", data_files="data/chat.jsonl", split="train")
trainer = SFTTrainer(model="models/tiny-llama", train_dataset=dataset,
    args=SFTConfig(output_dir="sft", max_length=48, per_device_train_batch_size=2, max_steps=40, report_to="none"))
trainer.train()
