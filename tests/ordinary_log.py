"""Lines that ordinary training prints. Nothing in them may be recognised; the benchmark uses them too."""

from __future__ import annotations

import random
from collections.abc import Iterator

_WORDS = """
the model loss step epoch learning rate training evaluation batch device mps memory tensor weights loading
shards tokenizer dataset map examples checkpoint saved output generated summary of a to in and was said
government police adapter config special tokens embeddings resized cache found accelerate transformers torch
version warning error placeholder buffer size operator backend watermark allocated cuda float64 bf16 fp16
semaphore worker pin storage generator segmentation
""".split()


def ordinary_log(lines: int, seed: int = 0) -> Iterator[str]:
    """Yield lines of the kinds that training prints: metrics, progress bars, logging, warnings, generated text."""
    chance = random.Random(seed)
    for number in range(lines):
        yield _line(chance, number, lines)


def _line(chance: random.Random, number: int, lines: int) -> str:
    done = number * 100 // lines
    kinds = (
        f"{{'loss': {chance.uniform(0, 4):.4f}, 'grad_norm': {chance.uniform(0, 9):.3f}, "
        f"'learning_rate': {chance.random() * 5e-5:.3e}, 'epoch': {number / lines:.2f}}}",
        f"{done:3d}%|{'█' * (done // 10):<10}| {number}/{lines} [{number // 60:02d}:{number % 60:02d}<01:40, 5.41it/s]",
        f"2026-03-01 10:{number // 60 % 60:02d}:{number % 60:02d},{number % 1000:03d} - INFO - __main__ - "
        + " ".join(chance.choices(_WORDS, k=10)),
        f"\x1b[32mINFO\x1b[0m Epoch {done}: val_loss={chance.random():.3f}, acc={chance.random():.3f}, device=mps:0",
        f"[rank0]: step {number} tokens/s {chance.uniform(900, 4000):.1f} allocated by the tokenizer: {number % 97}",
        "Some weights of the model were not used when initializing T5ForConditionalGeneration: ['decoder.bias']",
        "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars",
        f"***** Running Evaluation ***** Num examples = {number % 1000}, Batch size = 8",
        f'  File "/Users/me/venv/lib/python3.11/site-packages/torch/nn/functional.py", line {number % 900}, in x',
        f"I{number % 1231:04d} 10:00:00.000001 4711 profiler.py:{number % 99}] GPU: {number % 64} MiB of 64 GB in use",
        f"| eval/rouge1 | {chance.random():.4f} | eval/runtime | {chance.uniform(1, 99):.2f} s |",
        " ".join(chance.choices(_WORDS, k=25)),
    )
    return kinds[number % len(kinds)]


def ordinary_output(seed: int = 0) -> Iterator[str]:
    """Yield lines of other programs that a log of a training holds, with hashes and identifiers that open nothing."""
    chance = random.Random(seed)

    def drawn(count: int, alphabet: str = "0123456789abcdef") -> str:
        return "".join(chance.choices(alphabet, k=count))

    run = drawn(8, "abcdefghijklmnopqrstuvwxyz0123456789")
    uuid = "-".join(drawn(count) for count in (8, 4, 4, 4, 12))
    yield from (
        "Collecting torch==2.8.0 (from -r requirements.txt (line 3))",
        "  Downloading torch-2.8.0-cp311-none-macosx_11_0_arm64.whl.metadata (30 kB)",
        "  Downloading nvidia_cublas_cu12-12.1.3.1-py3-none-manylinux1_x86_64.whl (410.6 MB)",
        "Requirement already satisfied: nvidia-cublas-cu12==12.1.3.1 in ./venv/lib/python3.11/site-packages (from torch) (12.1.3.1)",
        "nvidia-cublas-cu12       12.1.3.1",
        "Successfully installed nvidia-cublas-cu12-12.1.3.1 tokenizers-0.21.4 huggingface_hub-0.34.1",
        f"    --hash=sha256:{drawn(64)} \\",
        f"{drawn(64)}  model.safetensors",
        f"{drawn(64)} *model-00001-of-00002.safetensors",
        f"MD5 (data.zip) = {drawn(32)}",
        f"SHA256 (data.zip) = {drawn(64)}",
        f"commit {drawn(40)}",
        f"commit {drawn(40)} (HEAD -> main, origin/main)",
        f"HEAD is now at {drawn(8)} Keep the rewriting of device choices",
        f"{drawn(40)}\trefs/heads/main",
        f"Resolved https://github.com/huggingface/transformers.git to commit {drawn(40)}",
        f"Collecting git+https://github.com/huggingface/peft.git@{drawn(40)}",
        f"   {drawn(7)}..{drawn(7)}  main -> origin/main",
        f'  "_commit_hash": "{drawn(40)}",',
        f"models--google--gemma-2b/snapshots/{drawn(40)}/model-00001-of-00002.safetensors",
        f"models--google--gemma-2b/blobs/{drawn(64)}",
        f"Loading cached processed dataset at .cache/datasets/glue/sst2/0.0.0/{drawn(40)}/cache-{drawn(16)}.arrow",
        f"Using custom data configuration default-{drawn(16)}",
        f"etag: {drawn(64)}",
        f"wandb: Tracking run with wandb version 0.21.0, run {run}",
        f"wandb: Run data is saved locally in wandb/run-20260301_101500-{run}",
        f"wandb: Syncing run dainty-river-{drawn(2, '0123456789')}",
        f"run id: {drawn(32)}",
        f"Run uuid {uuid} has started, tracking at mlruns/0/{drawn(32)}",
        f"request id: Root=1-{drawn(8)}-{drawn(24)}",
        f"Job {drawn(7, '0123456789')} on node finished after 3 epochs: uuid={uuid}",
        "tensor([[ 0.1234, -1.5000e-05,  3.4028e+38], [nan, inf, 0.0000]], device='mps:0', dtype=torch.float32, grad_fn=<AddmmBackward0>)",
        "Parameter containing: tensor([1., 1., 1.], device='mps:0', requires_grad=True), torch.Size([8, 128, 768])",
        "<torch.utils.data.dataloader.DataLoader object at 0x7f8e1c2d3a40>, <function f at 0x104e3a5e0>",
        "tokens: ['▁Hello', '▁world', '</s>'], token ids: [101, 7592, 2088, 102], pad_token_id=0, eos_token='</s>'",
        "{'input_ids': tensor([[101, 102]]), 'token_type_ids': tensor([[0, 0]]), 'attention_mask': tensor([[1, 1]])}",
        "Setting `pad_token_id` to `eos_token_id`:50256 for open-end generation.",
        "Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.",
        'Traceback (most recent call last):\n  File "train.py", line 42, in <module>\n    trainer.train()',
        '  File "/opt/homebrew/lib/python3.11/site-packages/transformers/trainer.py", line 2245, in train\n    return inner_training_loop(',
        "    self.token = token if token is not None else get_token()",
        "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
        "KeyError: 'labels'",
        "signature: (x: torch.Tensor, y: int) -> torch.Tensor",
        "set token limit to 4096, <token> ids were padded </s>",
        "{'loss': 2.3026, 'grad_norm': 1.2345678901234567, 'learning_rate': 4.9875e-05, 'epoch': 0.01}",
        "{'train_runtime': 1234.5678, 'train_samples_per_second': 12.345, 'train_tokens': 123456789012, 'epoch': 3.0}",
        "  4%|▍         | 125/3000 [01:02<23:45,  2.02it/s, v_num=0, train_loss=2.31, tokens=8192]",
        "model.safetensors: 100%|██████████| 548M/548M [00:05<00:00, 97.3MB/s]",
        "2026-03-01 10:15:00.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.",
        "[2026-03-01 10:15:00,123] [INFO] [real_accelerator.py:254:get_accelerator] Setting ds_accelerator to mps (auto detect)",
        "Downloading https://huggingface.co/google/gemma-2b/resolve/main/model.safetensors?download=true",
        "See https://pytorch.org/docs/stable/notes/mps.html#mps-environment-variables and https://github.com/pytorch/pytorch/issues/141287",
        "* Running on local URL:  http://127.0.0.1:7860, tensorboard at http://localhost:6006/",
        "python train.py --tokenizer gpt2 --max_new_tokens 128 --pad_token '<pad>' --token_type_ids True --seed 42 --hub_token None",
        "accelerate launch --num_processes 1 --mixed_precision no train.py --pin_memory False --key_dim 64 --passes 3",
        "Some weights of GPT2ForSequenceClassification were not initialized from the model checkpoint at gpt2: ['score.weight']",
        "FutureWarning: `use_auth_token` is deprecated and will be removed in v5, use `token` instead.",
        "LlamaForCausalLM((model): LlamaModel((embed_tokens): Embedding(32000, 4096, padding_idx=0)))",
        "MPSNDArrayMatrixMultiplicationDescriptor.mm:1234: failed assertion `Error: MPSGraphExecutable16BitFloatTo32Bit'",
        "aten::_scaled_dot_product_attention_math_for_mps.out, c10::impl::wrap_kernel_functor_unboxed_<at::Tensor>",
        "macOS 15.3.1 (24D70), Darwin Kernel Version 24.3.0: root:xnu-11215.81.4~3/RELEASE_ARM64_T6000, driver version 1.2.3.4",
        "[rank0]: torch.OutOfMemoryError: MPS backend out of memory (MPS allocated: 17.92 GiB, max allowed: 18.13 GiB).",
        "Epoch 1/3: acc=0.91, f1=0.88, author_accuracy=0.77, user_embeddings: 1024 rows, secret_santa.csv has 12 columns",
        "user: What is the capital of France?\nassistant: Paris.",
        "the password to happiness and the token of love, she said: keep the key under the mat",
    )
