"""The Git side of the agent: refs in, an index of `live` and a verdict about it; the report out."""
