"""trl: its parser is that of transformers."""

from stubs.transformers import HfArgumentParser as TrlParser
