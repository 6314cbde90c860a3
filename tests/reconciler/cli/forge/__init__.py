"""`gitvirt forge check` against the published answers of each forge."""
