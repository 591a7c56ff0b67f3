"""A fix that asks for CUDA is safe only where the program sets no variable of the driver afterwards."""

from __future__ import annotations

import pytest

from mpslint.api import check

WRITE = 'os.environ["CUDA_VISIBLE_DEVICES"] = gpu\n'
HEAD = 'import os\nimport torch\n\ngpu = "1"\n'
MODEL = "torch.nn.Linear(2, 2).to(device)\n"
PARSED = (
    'import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument("--device", default="cuda")\nargs = parser.parse_args()\n'
)
SETUP = f"def setup():\n    {WRITE}\n"


def safety(code: str) -> list[str]:
    """Return how safe the fixes of CUDA are."""
    return [f.safety for f in check(HEAD + code).findings if f.rule in ("MPS501", "MPS502")]


@pytest.mark.parametrize(
    "code",
    [
        f'device = "cuda"\nif __name__ == "__main__":\n    {WRITE}    {MODEL}',
        f"{PARSED}if args.device:\n    {WRITE}device = args.device\n{MODEL}",
        f'{SETUP}device = "cuda"\nsetup()\n{MODEL}',
        f'{SETUP}def main():\n    device = "cuda"\n    setup()\n    {MODEL}\nmain()\n',
        f'def train(device="cuda"):\n    {MODEL}\n{WRITE}train()\n',
        f'device = "cuda"\n{WRITE.replace("gpu", "str(gpu)")}{MODEL}',
    ],
)
def test_a_question_before_the_variable_is_set_is_unsafe(code: str) -> None:
    """The driver reads the variable when it starts, which the question makes it do."""
    assert safety(code) == ["unsafe"]


@pytest.mark.parametrize(
    "code",
    [
        f'{WRITE}device = "cuda"\n{MODEL}',
        f'{SETUP}setup()\ndevice = "cuda"\n{MODEL}',
        f'{SETUP}def main():\n    setup()\n    device = "cuda"\n    {MODEL}\nmain()\n',
        f'def main():\n    device = "cuda"\n    {MODEL}\n{WRITE}main()\n',
        f'device = "cuda"\nos.environ["TOKENIZERS_PARALLELISM"] = "false"\n{MODEL}',
        f'torch.nn.Linear(2, 2).to("cuda")\n{WRITE}',
    ],
)
def test_another_order_stays_safe(code: str) -> None:
    """A question below the variable changes nothing, nor does one where the device is used anyway."""
    assert safety(code) == ["safe"]
