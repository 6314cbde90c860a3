"""The rules between objects, and those within one that no schema can say.

Pure: declarations in, findings out, all of them at once. `check_document` needs one document, `check_tree` all of a
tree and, where there is one, the revision before. Line and column come last, in `finding`, and only for what was found.
"""

from schemas.validate.finding import Finding
from schemas.validate.inputs import EarlierRevision, ValidationPolicy
from schemas.validate.rules import check_document, check_tree
from schemas.validate.tree import AnyDeclaration, Declaration, Tree

__all__ = [
    "AnyDeclaration",
    "Declaration",
    "EarlierRevision",
    "Finding",
    "Tree",
    "ValidationPolicy",
    "check_document",
    "check_tree",
]
