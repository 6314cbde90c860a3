"""A bounded random walk of people, faults, kills and restarts over a whole fleet in one process: `python -m tests.soak`."""
