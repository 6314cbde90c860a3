"""Trees of files in, documents by key out: the source branch as far as it may be used, and `live` as a reconciler wrote it."""
