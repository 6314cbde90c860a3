"""What verbs share about objects: how people name them (`nouns`), which of them are meant (`selectors`), and how
they look in a row (`columns`).

Limits: only presentation and choice. Nothing here reads a repo by itself but `selectors.read_current`, and nothing
writes.
"""
