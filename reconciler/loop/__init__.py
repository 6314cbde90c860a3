"""The shell around the pure parts: when a tick happens, what becomes of its outcome, what is told about it.

It must not decide about objects, nor know what a manifest looks like.
"""
