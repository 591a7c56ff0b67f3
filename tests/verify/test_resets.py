"""Gradients that no step resets, and every way to reset them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from mpslint.verify.child.nonfinite import Resets  # noqa: E402

Loop = Callable[[], None]


@pytest.fixture
def resets() -> Iterator[Resets]:
    """Watch the optimizers of this process, and no longer than a test."""
    hooks = importlib.import_module("torch.optim.optimizer")
    before = dict(hooks._global_optimizer_pre_hooks), dict(hooks._global_optimizer_post_hooks)
    torch.manual_seed(0)
    yield Resets(lambda: "train.py:7")
    for table, kept in zip((hooks._global_optimizer_pre_hooks, hooks._global_optimizer_post_hooks), before, strict=True):
        table.clear()
        table.update(kept)


def made(kind: str = "SGD", **how: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a small model and its optimizer."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    return model, getattr(torch.optim, kind)(model.parameters(), **{"lr": 0.05, **how})


def loss_of(model: nn.Module) -> torch.Tensor:
    """Return the loss of a batch that is drawn anew."""
    loss: torch.Tensor = (model(torch.randn(4, 6)) - torch.randn(4, 1)).square().mean()
    return loss


def plain(reset: Callable[[nn.Module, torch.optim.Optimizer], None], kind: str = "SGD", each: int = 1, *, clips: bool = False) -> Loop:
    """Return a loop that resets gradients after its steps in some way."""

    def run() -> None:
        model, optimizer = made(kind)
        for number in range(6 * each):
            loss_of(model).backward()
            if (number + 1) % each == 0:
                if clips:
                    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
                reset(model, optimizer)

    return run


def nothing(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Reset nothing."""


def one_batch_and_one_weight() -> None:
    """Descend on one batch without a reset: all gradients have one direction."""
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for _ in range(6):
        (weight * 3 - 1).square().sum().backward()
        optimizer.step()


def adversarial(*, resets: bool) -> None:
    """Have a loss of the generator go through the discriminator, whose gradients are left until its own turn."""
    generator, of_generator = made()
    judge = nn.Linear(1, 1)
    of_judge = torch.optim.Adam(judge.parameters(), lr=0.05)
    for _ in range(6):
        if resets:
            of_judge.zero_grad()
        (judge(generator(torch.randn(4, 6)).detach()).mean() - judge(torch.randn(4, 1)).mean()).backward()
        of_judge.step()
        of_generator.zero_grad(set_to_none=False)
        (-judge(generator(torch.randn(4, 6))).mean()).backward()
        of_generator.step()


def closure() -> None:
    """Have LBFGS take a closure that resets gradients at each of its calls."""
    model, optimizer = made("LBFGS", max_iter=3)
    inputs, target = torch.randn(16, 6), torch.randn(16, 1)

    def again() -> float:
        optimizer.zero_grad()
        loss = (model(inputs) - target).square().mean()
        loss.backward()
        return loss.item()

    for _ in range(5):
        optimizer.step(again)


def scaled() -> None:
    """Scale losses, and clip the gradients once they are unscaled."""
    model, optimizer = made()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(6):
        optimizer.zero_grad(set_to_none=False)
        scaler.scale(loss_of(model)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()


def by_hand() -> None:
    """Compute gradients apart, and write them over the old ones."""
    model, optimizer = made()
    for _ in range(6):
        found = torch.autograd.grad(loss_of(model), list(model.parameters()))
        for weight, gradient in zip(model.parameters(), found, strict=True):
            weight.grad = gradient.clone() if weight.grad is None else weight.grad.copy_(gradient)
        optimizer.step()


def decayed() -> None:
    """Keep a share of old gradients on purpose, as momentum."""
    model, optimizer = made()
    for _ in range(6):
        loss_of(model).backward()
        optimizer.step()
        for weight in model.parameters():
            if weight.grad is not None:
                weight.grad.mul_(0.9)


def two_of_one() -> None:
    """Have two optimizers step on the same weights, and one reset them."""
    model, first = made()
    second = torch.optim.Adam(model.parameters())
    for _ in range(6):
        first.zero_grad()
        loss_of(model).backward()
        first.step()
        second.step()


def one_step() -> None:
    """Take one step, without a reset."""
    model, optimizer = made()
    loss_of(model).backward()
    loss_of(model).backward()
    optimizer.step()


def zeroed_data(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Reset as code of old does."""
    for weight in model.parameters():
        assert weight.grad is not None
        weight.grad.data.zero_()


def dropped(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Reset weight by weight."""
    for weight in model.parameters():
        weight.grad = None


WRONG: dict[str, Loop] = {
    "never": plain(nothing),
    "with momentum": plain(nothing, "Adam"),
    "accumulated": plain(nothing, each=3),
    "clipped": plain(nothing, clips=True),
    "one weight": one_batch_and_one_weight,
    "discriminator": lambda: adversarial(resets=False),
}
SOUND: dict[str, Loop] = {
    "optimizer": plain(lambda model, optimizer: optimizer.zero_grad()),
    "zeros": plain(lambda model, optimizer: optimizer.zero_grad(set_to_none=False), "AdamW"),
    "model": plain(lambda model, optimizer: model.zero_grad()),
    "data": plain(zeroed_data),
    "dropped": plain(dropped, "Adam"),
    "accumulated": plain(lambda model, optimizer: optimizer.zero_grad(), each=4),
    "clipped": plain(lambda model, optimizer: optimizer.zero_grad(set_to_none=False), clips=True),
    "adversarial": lambda: adversarial(resets=True),
    "closure": closure,
    "scaled": scaled,
    "by hand": by_hand,
    "decayed": decayed,
    "two optimizers": two_of_one,
    "one step": one_step,
}


@pytest.mark.parametrize("name", WRONG)
def test_gradients_that_add_up_are_seen(resets: Resets, name: str) -> None:
    """The line of the step is named where a gradient holds those of the steps before."""
    WRONG[name]()
    assert resets.line == "train.py:7"


@pytest.mark.parametrize("name", SOUND)
def test_gradients_that_are_reset_are_not(resets: Resets, name: str) -> None:
    """However the code resets them."""
    SOUND[name]()
    assert resets.line == ""


def test_nothing_is_kept_of_tensors_without_values(resets: Resets) -> None:
    """They stand for the Mac's, and a copy of a gradient would count as memory of the run."""
    from mpslint.verify.child.standin import StandIn

    with StandIn("meta"):
        model = nn.Linear(6, 8).to("mps")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.ones(4, 6, device="mps")).sum().backward()
            optimizer.step()
    assert not resets._followed
