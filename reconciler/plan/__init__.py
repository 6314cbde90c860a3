"""What one tick is going to do: an immutable Plan, the same object that `gitvirt plan` prints and `gitvirt run` writes.

types -> source_changes (what people changed), suggestion (what would make an object fit), significance (whether a status is worth a commit).
It must not decide anything, nor know files or Git.
"""
