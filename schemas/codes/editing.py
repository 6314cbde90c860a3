"""GV7xx: writing into manifests."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
