"""Trees of files in, documents by key out: the source branch as far as it may be used, and `live` as a reconciler wrote it.

Data passes: source_head (commits -> the one that is used), rules (its settings and ignore patterns), files and contents (blobs
-> documents, by way of parse_cache), tree_index (documents by path and by key), immutability and freeze (files that change what
may not change), absence_check (what is not declared: gone, or maybe not understood).

A file is used as a whole or not at all. One that breaks the format, or a rule about immutable fields, declares nothing here, and
its objects stay as `live` has them, because nothing says which of its documents people still mean.
"""
