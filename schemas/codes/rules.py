"""GV3xx: rules between objects."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
