"""GV6xx: gitvirt.yaml, poollet.yaml and reports."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV620": Code(
        "A report cannot be read",
        "A file on a poollet's report ref is not what its schema says: a version that does not match, or somebody else's push.",
        "Look at the ref's last commit. What the file is about counts as unknown until it reads again; nothing is deleted for it.",
    ),
}
