"""GV5xx: quota and secrets."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {}
