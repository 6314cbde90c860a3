"""The rules between objects, and those within one that no schema can say.

Pure: entries in, findings out, all of them at once. `within` needs one document, `between` all of a tree and, where
there is one, the revision before. Line and column come last, in `placement`, and only for what was found.
"""

from schemas.validate.finding import Finding
from schemas.validate.inputs import Past, Policy
from schemas.validate.rules import between, within
from schemas.validate.tree import AnyEntry, Entry, Tree
from schemas.validate.whole import validate

__all__ = ["AnyEntry", "Entry", "Finding", "Past", "Policy", "Tree", "between", "validate", "within"]
