"""GV7xx: writing into manifests."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV701": Code(
        "Not a document that can be edited",
        "The file is not UTF-8 or not YAML, or it changed so that the document is missing or is not a mapping.",
        "Run gitvirt validate to find the mistake, and fix it. Until then the text on the target branch does not change.",
    ),
    "GV702": Code(
        "No place for the field",
        "The parent of the field is a list or a single value, for example `spec: none`.",
        "Make the parent a mapping, or remove it.",
    ),
    "GV703": Code(
        "Setting the field would change something else",
        "The parent of the field has an anchor (&name) that an alias (*name) repeats in another place, or is such an alias.",
        "Write the fields out in both places.",
    ),
    "GV704": Code(
        "The field comes from a merge",
        "The field is not in the document's own text: a merge key (<<) copies it from another mapping, which other documents may share.",
        "Write the merged fields out.",
    ),
    "GV705": Code(
        "The value cannot be written",
        "The value has no text in the document's format, for example half of a character, or infinity in JSON.",
        "The file is correct; the component that reports the value must report a different one.",
    ),
    "GV706": Code(
        "The document is too large for its style",
        "Documents larger than 64 KiB are edited only where lines or braces show the position of the field directly.",
        "Split the file, or write the document in plain block style.",
    ),
}
