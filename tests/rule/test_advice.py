"""The advice of a rule is for the library that a program trains with."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

PAIRS = """from trl import DPOConfig, DPOTrainer, ModelConfig, TrlParser

model, config = TrlParser((ModelConfig, DPOConfig)).parse_args_and_config()
DPOTrainer(model.model_name_or_path, args=config, processing_class=tokenizer, train_dataset=data).train()
"""


@pytest.mark.parametrize(("trl", "advice"), [("0.24.0", "Upgrade trl to 0.29"), ("0.29.0", "Set pad_to_multiple_of=64 in DPOConfig")])
def test_pairs_are_padded_by_their_own_collator(tmp_path: Path, trl: str, advice: str) -> None:
    """DPOConfig has pad_to_multiple_of since trl 0.29 (trainer/dpo_config.py of the wheels 0.28.0 and 0.29.0)."""
    (tmp_path / "train.py").write_text(PAIRS)
    (tmp_path / "pairs.yaml").write_text("model_name_or_path: a/b\nmax_length: 1024\n")
    (tmp_path / "run.sh").write_text("python train.py --config pairs.yaml\n")

    results = check_paths([str(tmp_path)], Options(isolated=True, select=("MPS301",), target={"trl": trl}))

    (found,) = (one for result in results for one in result.findings)
    assert found.fix is not None
    assert found.fix.summary.startswith(advice)


@pytest.mark.parametrize(
    ("rule", "code", "advice"),
    [
        (
            "MPS111",
            'import torch\n\nscaler = torch.amp.GradScaler("cuda")\nwith torch.autocast("cuda", dtype=torch.float16):\n    pass\n',
            "for float16 pass that device to GradScaler, too",
        ),
        (
            "MPS516",
            "import lightning as L\nfrom ray.train.lightning import RayDDPStrategy\n\ntrainer = L.Trainer(strategy=RayDDPStrategy())\n",
            'Set accelerator="cpu" on the Mac',
        ),
    ],
)
def test_the_advice_counts_with_what_stands_beside(tmp_path: Path, rule: str, code: str, advice: str) -> None:
    """A scaler for CUDA beside an autocast for CUDA has to change, too, and Ray's Trainer takes Ray's strategies alone."""
    (tmp_path / "train.py").write_text(code)
    (found,) = (one for result in check_paths([str(tmp_path)], Options(isolated=True, select=(rule,))) for one in result.findings)
    assert found.fix is not None
    assert advice in found.fix.summary
