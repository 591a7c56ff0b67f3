"""mmcv: configurations whose keys are attributes."""

from stubs._bags import Bag as ConfigDict
from stubs._mm_config import Config
