"""GV1xx: reading a file."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
