"""The programs of the published step times, rebuilt from their descriptions on meta tensors, so that their work can be counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from mpslint.estimate.step import StepWork
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.watch import Watch

Loss = Callable[[nn.Module], torch.Tensor]


@dataclass(frozen=True)
class Program:
    """A model with the loss of one batch and its optimizer."""

    model: nn.Module
    loss: Loss
    optimizer: torch.optim.Optimizer
    samples: int
    waits: int = 0

    def forward_and_backward(self) -> None:
        """Run the forward and backward pass; the score matrices of attention are made, as on MPS."""
        with sdpa_kernel(SDPBackend.MATH):
            self.loss(self.model).backward()

    def step(self) -> None:
        """Run one whole step."""
        self.forward_and_backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def program(model: nn.Module, loss: Loss, optimizer: str, samples: int, *, waits: int = 0) -> Program:
    """Return a program in training mode."""
    trained = [one for one in model.parameters() if one.requires_grad]
    kinds: dict[str, Callable[[], torch.optim.Optimizer]] = {
        "adam": lambda: torch.optim.Adam(trained),
        "adamw": lambda: torch.optim.AdamW(trained),
        "sgd": lambda: torch.optim.SGD(trained, lr=0.1, momentum=0.9),
    }
    return Program(model.train(), loss, kinds[optimizer](), samples, waits)


def count(made: Program) -> StepWork:
    """Return the work of one optimizer step of a program on meta tensors, the optimizer's state being there already."""
    watch = Watch(LiveMemory(), GraphCache(frozenset()))
    meter = Meter()
    for is_counted in (False, True):
        watch.meter = meter if is_counted else None
        with watch:
            made.forward_and_backward()
            made.optimizer.step()
        made.optimizer.zero_grad()
    return StepWork(meter.operators(), made.samples, waits=meter.waits + made.waits)


def images(batch: int, side: int) -> torch.Tensor:
    """Return a batch of pictures."""
    return torch.empty(batch, 3, side, side)


def classify(batch: int, side: int) -> Loss:
    """Return the loss of a picture classifier."""

    def loss(model: nn.Module) -> torch.Tensor:
        out = model(images(batch, side))
        return nn.functional.cross_entropy(getattr(out, "logits", out), torch.zeros(batch, dtype=torch.long))

    return loss


def vgg16(classes: int, *, norm: bool) -> nn.Module:
    """Return VGG-16 as torchvision builds it."""

    def layers() -> Iterator[nn.Module]:
        width = 3
        for block in ((64, 64), (128, 128), (256,) * 3, (512,) * 3, (512,) * 3):
            for wide in block:
                yield nn.Conv2d(width, wide, 3, padding=1)
                if norm:
                    yield nn.BatchNorm2d(wide)
                yield nn.ReLU(inplace=True)
                width = wide
            yield nn.MaxPool2d(2)
        yield nn.AdaptiveAvgPool2d(7)
        yield nn.Flatten()
        for wide, out in ((25088, 4096), (4096, 4096)):
            yield from (nn.Linear(wide, out), nn.ReLU(inplace=True), nn.Dropout())
        yield nn.Linear(4096, classes)

    return nn.Sequential(*layers())


class Basic(nn.Module):
    """The residual block of ResNet-18 and ResNet-20."""

    def __init__(self, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        short = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.short = short if stride != 1 or width != out else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        return torch.relu(self.second(self.first(x)) + self.short(x))


def basic_resnet(widths: tuple[int, ...], depth: int, *, is_imagenet: bool) -> nn.Module:
    """Return a ResNet of basic blocks, with the stem for ImageNet (7 x 7, stride 2, pooled) or for CIFAR (3 x 3)."""
    stem = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False) if is_imagenet else nn.Conv2d(3, widths[0], 3, padding=1, bias=False)
    layers: list[nn.Module] = [stem, nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True)]
    layers += [nn.MaxPool2d(3, 2, 1)] if is_imagenet else []
    width = widths[0]
    for number, wide in enumerate(widths):
        for place in range(depth):
            layers.append(Basic(width, wide, 2 if number and not place else 1))
            width = wide
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


class UnetBlock(nn.Module):
    """Two convolutions with group norm, and the time step added between them."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))
        self.time = nn.Linear(256, out)
        self.second = nn.Sequential(nn.GroupNorm(8, out), nn.SiLU(), nn.Conv2d(out, out, 3, padding=1))
        self.short = nn.Conv2d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        return self.second(self.first(x) + self.time(t)[:, :, None, None]) + self.short(x)


class Unet(nn.Module):
    """A small diffusion U-Net: levels of 64, 128 and 256 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Conv2d(3, 64, 3, padding=1)
        self.down = nn.ModuleList([UnetBlock(64, 64), UnetBlock(64, 128), UnetBlock(128, 256)])
        self.middle = UnetBlock(256, 256)
        self.up = nn.ModuleList([UnetBlock(512, 256), UnetBlock(384, 128), UnetBlock(192, 64)])
        self.again = nn.ModuleList([UnetBlock(256, 256), UnetBlock(128, 128), UnetBlock(64, 64)])
        self.end = nn.Conv2d(64, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """Return the noise that is seen in pictures."""
        x, kept = self.start(x), []
        for block in self.down:
            x = block(x, t)
            kept.append(x)
            x = nn.functional.avg_pool2d(x, 2)
        x = self.middle(x, t)
        for block, again in zip(self.up, self.again, strict=True):
            x = nn.functional.interpolate(x, scale_factor=2)
            x = again(block(torch.cat([x, kept.pop()], 1), t), t)
        return self.end(x)


def diffusion(batch: int) -> Loss:
    """Return the loss of a diffusion model on pictures of 32 x 32."""

    def loss(model: nn.Module) -> torch.Tensor:
        x = images(batch, 32)
        return nn.functional.mse_loss(model(x, torch.empty(batch, 256)), torch.randn_like(x))

    return loss


def from_config(kind: str, head: str, **values: Any) -> nn.Module:
    """Return a model of transformers from its configuration."""
    import transformers

    config = transformers.AutoConfig.for_model(kind, use_cache=False, **values)
    model: nn.Module = getattr(transformers, f"AutoModelFor{head}").from_config(config)
    return model


def tokens(batch: int, length: int, *, is_lm: bool) -> Loss:
    """Return the loss of a language model or of a text classifier."""

    def loss(model: nn.Module) -> torch.Tensor:
        ids = torch.zeros(batch, length, dtype=torch.long)
        labels = ids if is_lm else torch.zeros(batch, dtype=torch.long)
        found: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss
        return found

    return loss


class Keywords(nn.Module):
    """The keyword transformer KWT: 98 frames of 40 numbers and a class token."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.start = nn.Linear(40, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True)
        self.body = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self.end = nn.Linear(width, 35)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of the keywords."""
        return self.end(self.body(self.start(x))[:, 0])


def keywords(batch: int) -> Loss:
    """Return the loss of a keyword transformer."""

    def loss(model: nn.Module) -> torch.Tensor:
        out = model(torch.empty(batch, 99, 40))
        return nn.functional.cross_entropy(out, torch.zeros(batch, dtype=torch.long))

    return loss


def train_only(model: nn.Module, *parts: str) -> nn.Module:
    """Return the model with every parameter frozen whose name holds none of `parts`."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(any(part in name for part in parts))
    return model


def with_lora(model: nn.Module, rank: int) -> nn.Module:
    """Return the model with LoRA adapters on all its linear layers, and the rest frozen."""
    from peft import LoraConfig, get_peft_model

    adapted: nn.Module = get_peft_model(model, LoraConfig(r=rank, target_modules="all-linear", fan_in_fan_out=True))
    return adapted


BERT = {"vocab_size": 28996}
DISTIL = ("layer.5.", "classifier")
QWEN = {"vocab_size": 151936, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True}


def workload(name: str) -> StepWork:
    """Return the work of one step of a program in `step_time_points.yaml`; numbers in the name are batch and length."""
    kind, _, sizes = name.partition(" ")
    with torch.device("meta"):
        return count(_WORKLOADS[kind](*map(int, sizes.split("x"))))


_WORKLOADS: dict[str, Callable[..., Program]] = {
    "vgg16-bn": lambda b: program(vgg16(10, norm=True), classify(b, 224), "adam", b),
    "vgg16": lambda b: program(vgg16(10, norm=False), classify(b, 224), "sgd", b),
    "bert-base": lambda b, n: program(from_config("bert", "SequenceClassification", **BERT), tokens(b, n, is_lm=False), "adamw", b),
    "resnet-50": lambda b: program(from_config("resnet", "ImageClassification", num_labels=101), classify(b, 224), "adam", b),
    "mobilenet-v2": lambda b: program(from_config("mobilenet_v2", "ImageClassification", image_size=224), classify(b, 224), "sgd", b),
    "distilbert-last-block": lambda b, n: program(
        train_only(from_config("distilbert", "SequenceClassification"), *DISTIL), tokens(b, n, is_lm=False), "adamw", b
    ),
    "qwen3-0.6b": lambda b, n: program(
        from_config("qwen3", "CausalLM", hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, **QWEN),
        tokens(b, n, is_lm=True), "adamw", b,
    ),
    "qwen3-4b": lambda b, n: program(
        from_config("qwen3", "CausalLM", hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32, **QWEN),
        tokens(b, n, is_lm=True), "adamw", b,
    ),
    "minimind": lambda b, n: program(
        from_config(
            "llama", "CausalLM", hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8,
            num_key_value_heads=2, vocab_size=6400, tie_word_embeddings=True,
        ),
        tokens(b, n, is_lm=True), "adamw", b,
    ),
    "mistral-7b-qv-half": lambda b, n: program(
        train_only(from_config("mistral", "CausalLM").half(), "q_proj", "v_proj"), tokens(b, n, is_lm=True), "adamw", b
    ),
    "mistral-7b-head-half": lambda b, n: program(
        train_only(from_config("mistral", "CausalLM").half(), "lm_head"), tokens(b, n, is_lm=True), "adamw", b
    ),
    "resnet-20": lambda b: program(basic_resnet((16, 32, 64), 3, is_imagenet=False), classify(b, 32), "adam", b, waits=1),
    "resnet-18-of-32": lambda b: program(basic_resnet((64, 128, 256, 512), 2, is_imagenet=True), classify(b, 32), "sgd", b),
    "kwt-1": lambda b: program(Keywords(64, 1), keywords(b), "adamw", b),
    "kwt-2": lambda b: program(Keywords(128, 2), keywords(b), "adamw", b),
    "ddpm-unet": lambda b: program(Unet(), diffusion(b), "adam", b, waits=1),
    "tiny-bert": lambda b, n: program(
        from_config("bert", "SequenceClassification", hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512),
        tokens(b, n, is_lm=False), "adamw", b, waits=1,
    ),
    "vit-base": lambda b: program(from_config("vit", "ImageClassification", num_labels=100), classify(b, 224), "adam", b),
    "gpt2-lora": lambda b, n: program(with_lora(from_config("gpt2", "CausalLM"), 16), tokens(b, n, is_lm=True), "adamw", b),
    "gpt2-last-block": lambda b, n: program(
        train_only(from_config("gpt2", "SequenceClassification", pad_token_id=0), "h.11.", "ln_f", "score"),
        tokens(b, n, is_lm=False), "adamw", b,
    ),
    "gpt2-medium": lambda b, n: program(
        from_config("gpt2", "CausalLM", n_embd=1024, n_layer=24, n_head=16), tokens(b, n, is_lm=True), "adamw", b
    ),
    "nanochat-d6": lambda b, n: program(
        from_config(
            "llama", "CausalLM", hidden_size=384, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=6, vocab_size=32768,
        ),
        tokens(b, n, is_lm=True), "adamw", b,
    ),
}  # fmt: skip
