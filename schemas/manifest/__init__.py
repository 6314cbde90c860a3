"""Files into documents: bytes in, documents that fit the schema of their kind out, and every problem with its place.

In the order in which data passes through: `ignore` chooses the files, `documents` reads one file, `schema_check` compares
a document with its JSON Schema, `schema_errors` and `value_rules` say what is wrong with it. Nothing here knows two documents.
"""

from schemas.manifest.documents import MAX_BYTES, Document, Manifest, parse, too_large

__all__ = ["MAX_BYTES", "Document", "Manifest", "parse", "too_large"]
