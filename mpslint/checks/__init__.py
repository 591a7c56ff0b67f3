"""What a rule file cannot say: one function a file, named by the rule that asks for it.

`find(evidence, options)` yields a Match for each place; `values(match, evidence)` works out what a fix should set.
"""
