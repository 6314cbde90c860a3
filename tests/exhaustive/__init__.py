"""Short scenarios of a fleet, each lived once for every stale read and every single fault in it: `python -m tests.exhaustive`."""
