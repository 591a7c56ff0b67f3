"""One command over many files: options, configuration, cache, baseline, processes."""
