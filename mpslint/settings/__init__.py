"""Settings: what a run is told to do, in one language, whatever framework and spelling the file uses."""
