"""mmengine.Config: `fromfile("configs/run.py")`."""

from stubs._mm_config import fromfile
