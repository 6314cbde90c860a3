"""What stands between bytes of a file and plain values: the YAML parser, and all it must not be trusted with.

Knows YAML and nothing of manifests. `schemas.reader` puts the pieces together; nobody else calls them.
"""
