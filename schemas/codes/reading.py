"""GV1xx: reading a file."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV101": Code(
        "Not YAML",
        "The text breaks a rule of YAML 1.2; the message says which. Often a value that needs quotes, or an indentation.",
        "Mend the place. A file that is not meant as YAML, such as a template, belongs in .gitvirtignore.",
    ),
    "GV102": Code(
        "Key stands twice",
        "One mapping has the same key twice. Tools differ in which of the two they take, so neither is taken.",
        "Remove one of them. To merge several anchors, write one <<: [*first, *second].",
    ),
    "GV103": Code(
        "Nested too deeply",
        "Collections stand within each other for more than 100 levels. Manifests need fewer than 15.",
        "Nest less; or name the file in .gitvirtignore if it is no manifest.",
    ),
    "GV104": Code(
        "Aliases expand too far",
        "Aliases (*name) would copy more than 100,000 values: a mistake, or an attempt to use up memory.",
        "Write the values out.",
    ),
    "GV105": Code(
        "Character that YAML does not allow",
        "The text holds a control character, half of a surrogate pair, or a byte order mark that is not at its start.",
        'Remove it. In double quotes it can be escaped, as in "\\x07".',
    ),
    "GV106": Code(
        "Not UTF-8",
        "The file is UTF-16 or UTF-32, as some editors for Windows save it, or in an encoding from before Unicode.",
        "Save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE, or -f WINDOWS-1252.",
    ),
    "GV107": Code(
        "Binary file",
        "The file's name is that of a manifest, and its content is no text.",
        "Name it in .gitvirtignore, or give it a name that does not end in .yaml, .yml or .json.",
    ),
    "GV108": Code(
        "File too large",
        "The file has more than 4 MiB, some 8,000 objects.",
        "Split it: folders of a few hundred files with an object each are read and changed fastest.",
    ),
    "GV109": Code(
        "Merge of something else than a mapping",
        "The value of << is neither a mapping nor a list of mappings.",
        "Refer to the anchor of a mapping, or write the fields out.",
    ),
    "GV110": Code(
        "Number too long",
        "A number has more than 1,000 digits, or a large file has thousands of numbers that exceed 64 bits.",
        "Quote what is text. A number that is meant is shorter.",
    ),
    "GV111": Code(
        "Tag and value do not go together",
        "A value has a tag such as !!int that it does not fit, or a tag of YAML's own that does not exist.",
        "Remove the tag: plain values need none, and quotes make text.",
    ),
    "GV112": Code(
        "Alias without an anchor",
        "An alias (*name) refers to an anchor that does not stand above it in the same document, or to what it stands in.",
        "Add the anchor (&name), or write the value out. A value that starts with * is quoted.",
    ),
    "GV113": Code(
        "Objects in a List",
        "The document is a List of objects, as kubectl get -o yaml prints it. gitvirt writes placements into documents, so each object needs one.",
        "Write each item as a document of its own, with --- between them: kubectl get ... -o json | jq -c '.items[]' is a start.",
    ),
    "GV114": Code(
        "Line of .gitvirtignore that means nothing",
        "The line is no pattern: a lone ! or a backslash at its end; or the whole file is too large to be a list of patterns.",
        "Mend or remove it. Patterns are those of gitignore.",
    ),
}
