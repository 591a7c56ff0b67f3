"""fvcore.common.config: a configuration of attributes."""

from stubs._bags import Bag as CfgNode
