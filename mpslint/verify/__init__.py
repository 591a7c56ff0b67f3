"""Verify: short runs of a training that back a verdict. Nothing in here imports torch but `emulator` and `child`,
which run apart."""
