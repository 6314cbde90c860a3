"""GV2xx: one document against the schema of its kind."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
