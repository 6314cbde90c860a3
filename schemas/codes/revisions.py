"""GV4xx: against an earlier revision."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
