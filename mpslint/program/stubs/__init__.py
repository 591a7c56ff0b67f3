"""Stubs: small Python programs (`rules/stubs/`) that say what a library does with the values that it is given."""
