# expect: pass
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
tok = AutoTokenizer.from_pretrained("models/tiny-llama")
base = AutoModelForCausalLM.from_pretrained("models/tiny-llama", torch_dtype=torch.float32)
m = get_peft_model(base, LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"))
m.print_trainable_parameters()
dev = torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
m.to(dev)
o = torch.optim.AdamW(filter(lambda p: p.requires_grad, m.parameters()), lr=1e-3)
for i in range(20):
    b = tok(["the cat sat on a mat", "dog ran"], return_tensors="pt", padding=True).to(dev)
    loss = m(**b, labels=b["input_ids"]).loss
    loss.backward(); o.step(); o.zero_grad()
m.save_pretrained("adapter")
