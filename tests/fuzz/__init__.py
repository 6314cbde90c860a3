"""Coverage-guided fuzzing, by hand: `make fuzz`. Not part of the suite; cases it finds become rows of its tables.

A target is a module here with `SEEDS`, texts to begin with, and `once(data)`, which raises when a law is broken.
"""
