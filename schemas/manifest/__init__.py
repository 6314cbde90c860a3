"""Files into documents: bytes in, documents that fit the schema of their kind out, and every problem with its place.

In the order in which data passes through: `ignore` chooses the files, `documents` reads one file (`parse_once` each file once for a whole
verb), `schema_check` compares a document with its JSON Schema, `schema_errors` and `value_rules` say what is wrong with it.

Limits: nothing here knows two documents, another revision, or the branch that a file is on. No file is opened: callers
pass bytes. What a malformed file means for the objects that it declared before is decided by the reconciler.
"""

from schemas.manifest.documents import MAX_BYTES, Document, Manifest, too_large
from schemas.manifest.parse_once import count_kept, parse, parse_once

__all__ = ["MAX_BYTES", "Document", "Manifest", "count_kept", "parse", "parse_once", "too_large"]
