# expect: pass; requires trl
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from trl import RewardConfig, RewardTrainer
m = AutoModelForSequenceClassification.from_pretrained("models/tiny-llama", num_labels=1)
t = AutoTokenizer.from_pretrained("models/tiny-llama")
d = load_dataset("json", data_files="data/pref.jsonl", split="train")
RewardTrainer(model=m, args=RewardConfig(output_dir="rm", per_device_train_batch_size=2, max_steps=30, report_to="none", gradient_checkpointing=False), train_dataset=d, processing_class=t).train()
