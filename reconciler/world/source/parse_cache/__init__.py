"""Parsed files, kept on disk by the ids of their blobs, so that a start does not parse them again."""
