"""Makes the tables of `rules/signatures/` for torch: what is declared, run and measured on the torch that is installed."""
