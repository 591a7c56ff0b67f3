# expect: pass
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, TrainerCallback
class Lines(Dataset):
    def __init__(self, path):
        self.rows = [l.strip() for l in open(path)]
    def __len__(self): return len(self.rows)
    def __getitem__(self, i):
        ids = torch.tensor([6 + (ord(c) % 40) for c in self.rows[i]][:24])
        ids = torch.nn.functional.pad(ids, (0, 24 - len(ids)))
        return {"input_ids": ids, "labels": ids.clone()}
class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        out = model(**inputs)
        loss = out.loss * 1.0
        return (loss, out) if return_outputs else loss
class Say(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw): print(logs)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=1, n_head=2))
t = MyTrainer(model=model, args=TrainingArguments("o", num_train_epochs=2, per_device_train_batch_size=8, report_to=[], save_steps=10), train_dataset=Lines("data/train.csv"), callbacks=[Say()])
t.train()
print(sum(p.device.type == "mps" for p in t.model.parameters()))
