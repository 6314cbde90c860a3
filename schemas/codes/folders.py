"""GV18x: the files and folders of a working tree."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV180": Code(
        "File or folder cannot be read",
        "The permissions deny access, or the disk fails.",
        "Fix the permissions. An unreadable file counts as unknown, not as absent, so nothing is deleted because of it.",
    ),
    "GV181": Code(
        "Symbolic link",
        "The path is a link. Git stores only its target path, so the reconciler does not follow links.",
        "Replace the link with the manifests. A link to files of the same repo needs no change: they are read at their own path.",
    ),
    "GV182": Code(
        "Repo within the repo",
        "The folder is a submodule or a nested clone, so its files belong to another repo.",
        "Copy the manifests into this repo, or name the folder in .gitvirtignore.",
    ),
    "GV183": Code(
        "Not a file",
        "The path is a named pipe, a socket or a device. Git does not store those.",
        "Move the file out of the repo, or name it in .gitvirtignore.",
    ),
    "GV184": Code(
        "Unusual file name",
        "The name holds a line break or another control character, or bytes that are not UTF-8.",
        "Rename the file. gitvirt still reads it.",
    ),
    "GV185": Code(
        "File disappeared",
        "The file was listed, but was missing when gitvirt read it: another program changes the folder.",
        "Run the command again.",
    ),
}
