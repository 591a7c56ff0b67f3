# expect: pass
import torch
from torch.utils.data import DataLoader
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_scheduler
from torch.optim import AdamW
tokenizer = AutoTokenizer.from_pretrained("models/tiny-bert")
model = AutoModelForSequenceClassification.from_pretrained("models/tiny-bert", num_labels=2)
ds = load_dataset("csv", data_files="data/train.csv")["train"].select(range(80))
ds = ds.map(lambda e: tokenizer(e["text"], padding="max_length", truncation=True, max_length=32), batched=True)
ds = ds.remove_columns(["text", "summary"]).rename_column("label", "labels")
ds.set_format("torch")
loader = DataLoader(ds, shuffle=True, batch_size=8)
device = "mps" if torch.backends.mps.is_available() else "cpu"
model.to(device)
opt = AdamW(model.parameters(), lr=5e-5)
n = 3 * len(loader)
sched = get_scheduler("linear", optimizer=opt, num_warmup_steps=0, num_training_steps=n)
model.train()
for epoch in range(3):
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        loss = model(**batch).loss
        loss.backward()
        opt.step(); sched.step(); opt.zero_grad()
model.eval()
correct = 0
for batch in loader:
    batch = {k: v.to(device) for k, v in batch.items()}
    with torch.no_grad():
        out = model(**batch)
    correct += (out.logits.argmax(-1) == batch["labels"]).sum().item()
print(correct / len(ds))
model.save_pretrained("done"); tokenizer.save_pretrained("done")
