"""GV18x: the files and folders of a working tree."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV180": Code(
        "File or folder cannot be read",
        "Its permissions do not allow it, or the disk fails.",
        "Mend the permissions. What cannot be read is unknown, not absent, so nothing is deleted because of it.",
    ),
    "GV181": Code(
        "Symbolic link",
        "The path is a link. Git stores where it points and the reconciler reads what Git stores, so links are not followed.",
        "Put the manifests themselves where the link is. A link to files of the same repo needs nothing: they are read there.",
    ),
    "GV182": Code(
        "A repo within the repo",
        "The folder is a submodule or a nested clone. Its files belong to another repo.",
        "Copy its manifests into this one, or name the folder in .gitvirtignore.",
    ),
    "GV183": Code(
        "Not a file",
        "The path is a named pipe, a socket or a device, which Git does not store.",
        "Move it out of the repo, or name it in .gitvirtignore.",
    ),
    "GV184": Code(
        "Odd file name",
        "The name holds a line break or another control character, or bytes that are not UTF-8.",
        "Rename the file. It is read all the same.",
    ),
    "GV185": Code(
        "File vanished",
        "The file was listed and gone when it was to be read: something else changes the folder.",
        "Run it again.",
    ),
}
