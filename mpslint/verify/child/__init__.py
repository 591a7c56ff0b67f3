"""The process in which verify's runs happen: the only place that imports torch and transformers."""

from __future__ import annotations
