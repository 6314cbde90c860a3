"""GV7xx: writing into manifests."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV701": Code(
        "Not a document that can be edited",
        "The file is not UTF-8, or does not read as YAML, or has changed so that the document is no longer there or no map.",
        "gitvirt validate names the mistake. Until it is mended the text on the target branch stays as it is.",
    ),
    "GV702": Code(
        "The field has no place",
        "What should hold the field is a list or a single value, for example `spec: none`.",
        "Make it a map, or remove it.",
    ),
    "GV703": Code(
        "Setting the field would change something else",
        "What holds the field has an anchor (&name) that an alias (*name) repeats elsewhere, or is such an alias.",
        "Write the fields out in both places.",
    ),
    "GV704": Code(
        "The field comes from a merge",
        "The field is not in the document's own text: a merge key (<<) brings it from another map, which others may share.",
        "Write the merged fields out.",
    ),
    "GV705": Code(
        "The value cannot be written",
        "The value has no text in the document's format, for example half of a character, or infinity in JSON.",
        "This is about the value, not about the file: whoever reports it has to report another.",
    ),
    "GV706": Code(
        "The document is too large for its style",
        "Documents beyond 64 KiB are edited only where their lines or braces say at once where the field stands.",
        "Split the file, or write the document in plain block style.",
    ),
}
