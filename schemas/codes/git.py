"""GV8xx: Git."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV801": Code(
        "Not a Git repo",
        "The directory is not inside a Git repo, or the repo there cannot be opened.",
        "Name a directory inside one, or make one with git init.",
    ),
    "GV802": Code(
        "Unknown revision",
        "No commit has that name: a typing mistake, a branch not fetched yet, or a clone without history.",
        "git branch -a and git tag list the names; git fetch brings what is new; git fetch --unshallow the history.",
    ),
    "GV803": Code(
        "Repo of another user",
        "Git opens no repo that another user owns, because its settings could run that user's commands as you.",
        "Run as its owner, or trust it: git config --global --add safe.directory DIRECTORY.",
    ),
    "GV804": Code(
        "Unsupported repo format",
        "The repo stores objects by SHA-256 or refs as a reftable, which gitvirt does not read yet.",
        "Use a repo with SHA-1 objects and files as refs, which is what git init makes by default.",
    ),
    "GV805": Code(
        "Damaged repo",
        "An object that a commit needs is missing or is not what its name says: a partial clone, or a broken disk.",
        "git fsck names the object; git fetch --refetch completes a partial clone; else clone anew.",
    ),
    "GV806": Code(
        "Not a commit",
        "A ref that must name a commit names a file or a folder.",
        "Point the ref at a commit, or delete it.",
    ),
    "GV807": Code(
        "Mirror in use",
        "Another process works with the same mirror directory; two would tread on each other's feet.",
        "Wait for it to end, or give this one a directory of its own.",
    ),
    "GV808": Code(
        "Malformed object",
        "A commit or a folder in the repo is not what Git defines, although nothing is broken: a program made it so.",
        "git fsck names it; push a commit made by git. receive.fsckObjects=true on the server keeps such out.",
    ),
    "GV820": Code(
        "Unusable repo address",
        "The address of the repo holds a password, names a protocol that is not supported, or is not well formed.",
        "Write a path, file://, ssh://, host:path or https:// address; credentials have their own place: docs/git.md.",
    ),
    "GV821": Code(
        "Unusable credentials",
        "A token file cannot be read or holds no token, or a setting about access has an unknown value.",
        "Put the token on one line of the file that the message names; docs/git.md lists every setting.",
    ),
}
