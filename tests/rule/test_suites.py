"""Files that no rule is asked about."""

from __future__ import annotations

import pytest

from mpslint.rule.suites import is_suite, suite_of
from mpslint.source.reader import read

CONFIG = b"model_name_or_path: a/b\nper_device_train_batch_size: 64\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/fixtures/sft.yaml", True),
        ("test/unit/fixtures/sft.yaml", True),
        ("recipes/sft.yaml", False),
        ("tests.yaml", False),
        ("fixtures/sft.yaml", False),
    ],
)
def test_a_fixture_is_for_tests(path: str, expected: bool) -> None:
    """Configuration that a test suite reads trains nothing."""
    assert is_suite(read(path, CONFIG)) is expected


MODAL = "import modal\napp = modal.App('a')\n\n\n@app.function(\n    image=modal.Image.debian_slim().pip_install('torch'),\n    gpu=modal.gpu.A100(count=2),\n)\ndef train(): ...\n"
AZURE = "from azure.ai.ml import Input, command\njob = command(\n    code='./src', command='python train.py', inputs=dict(data=Input(path='a')), compute={}\n)\n"
SCRIPT_RUN = "from azureml.core import ScriptRunConfig\nsrc = ScriptRunConfig(source_directory='.', script='train.py', compute_target={})\n"


@pytest.mark.parametrize(
    ("path", "text", "says", "is_judged"),
    [
        ("train.py", MODAL, "Modal", False),
        ("train.py", "import modal\n@app.function(schedule=modal.Cron('0 9 * * *'))\ndef clean(): ...\n", "", True),
        (
            "start.py",
            "import sagemaker\nfrom sagemaker.pytorch import PyTorch\nPyTorch(entry_point='train.py', instance_type='ml.g5.xlarge')\n",
            "SageMaker",
            False,
        ),
        ("train.py", "import os\nout = os.environ['SM_MODEL_DIR']\n", "SageMaker", False),
        ("start.py", SCRIPT_RUN.format("'gpus'"), "Azure ML", True),
        ("start.py", SCRIPT_RUN.format("cluster"), "Azure ML", True),
        ("start.py", SCRIPT_RUN.format("'local'"), "", True),
        ("start.py", SCRIPT_RUN.format("None"), "", True),
        ("start.py", "src = ScriptRunConfig(script='train.py')\nsrc.run_config.target = cluster\n", "Azure ML", True),
        ("train.py", "from azureml.core.run import Run\nrun = Run.get_context()\n", "", True),
        ("start.py", AZURE.format("'gpu-cluster'"), "Azure ML", True),
        ("start.py", AZURE.format("'local'"), "", True),
        ("start.py", "from azure.ai.ml import MLClient\nclient = MLClient()\n", "", True),
        (
            "job.yml",
            "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\ncommand: python train.py\n",
            "Azure ML",
            True,
        ),
        (
            "start.py",
            "from google.cloud import aiplatform\naiplatform.CustomTrainingJob(display_name='a', script_path='t.py')\n",
            "Vertex",
            True,
        ),
        ("start.py", "from google.cloud import aiplatform\naiplatform.Model.list()\n", "", True),
        ("train.py", "import ray\nray.init('ray://head:10001')\n", "Ray", False),
        ("train.py", "import ray\nray.init(\n    address='ray://10.0.0.1:10001')\n", "Ray", False),
        ("train.py", "import ray\nray.init('ray://localhost:10001')\n", "", True),
        ("train.py", "import ray\nray.init()\n", "", True),
        ("start.py", "from huggingface_hub import Volume, run_uv_job\nrun_uv_job('train.py', flavor='a10g-small')\n", "Hugging Face", True),
        ("job.sh", "#!/bin/bash\n#SBATCH --gres=gpu:4\nsrun python train.py\n", "queue", False),
        ("job.sh", "#!/bin/bash\n# SBATCH is not used\npython train.py\n", "", True),
    ],
)
def test_what_runs_elsewhere_says_where(path: str, text: str, says: str, is_judged: bool) -> None:
    """A script that sends a job away is judged all the same: the rest of it runs here."""
    document = read(path, text.encode())
    suite = suite_of(document)

    assert says in (suite.says if suite is not None else "")
    assert (suite is not None) is bool(says)
    assert is_suite(document) is not is_judged
