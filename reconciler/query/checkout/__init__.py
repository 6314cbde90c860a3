"""A repo as it lies on somebody's disk or at a revision, read and checked as a whole, offline.

The reconciler proper never comes here: it follows a remote, incrementally.
"""
