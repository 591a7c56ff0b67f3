# expect: pass; requires trl
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer
m = AutoModelForCausalLM.from_pretrained("models/tiny-llama")
t = AutoTokenizer.from_pretrained("models/tiny-llama")
d = load_dataset("json", data_files="data/pref.jsonl", split="train")
tr = DPOTrainer(model=m, args=DPOConfig(output_dir="dpo", per_device_train_batch_size=2, max_steps=30, report_to="none", gradient_checkpointing=False), train_dataset=d, processing_class=t)
tr.train()
