"""A plan as one commit: what people wrote with what the reconciler keeps spliced in, and a message that says what was done.

Pure but for reading blobs. Only paths that a change concerns are looked at, and only those that come out differently are
written. It must not decide anything about objects, nor push.
"""

from reconciler.write.drafting import Written, draft

__all__ = ["Written", "draft"]
