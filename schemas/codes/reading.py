"""GV1xx: reading a file."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV101": Code(
        "Not YAML",
        "The text breaks a rule of YAML 1.2; the message says which. Often a value that needs quotes, or an indentation.",
        "Fix the line. Name a file that is not YAML, such as a template, in .gitvirtignore.",
    ),
    "GV102": Code(
        "Duplicate key",
        "One mapping has the same key twice. Tools disagree about which one counts, so gitvirt refuses the file.",
        "Remove one of them. To merge several anchors, write one <<: [*first, *second].",
    ),
    "GV103": Code(
        "Nested too deeply",
        "Collections are nested more than 100 levels deep. Manifests need fewer than 15.",
        "Nest less, or name the file in .gitvirtignore if it is not a manifest.",
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
        "The file is UTF-16 or UTF-32, as some Windows editors save it, or in an encoding older than Unicode.",
        "Save the file as UTF-8: iconv -f UTF-16 -t UTF-8 FILE, or -f WINDOWS-1252.",
    ),
    "GV107": Code(
        "Binary file",
        "The file has the name of a manifest, but its content is not text.",
        "Name the file in .gitvirtignore, or rename it so that it does not end in .yaml, .yml or .json.",
    ),
    "GV108": Code(
        "File too large",
        "The file has more than 4 MiB, some 8,000 objects.",
        "Split the file. gitvirt reads and changes folders fastest that have a few hundred files with one object each.",
    ),
    "GV109": Code(
        "Merge of a value that is not a mapping",
        "The value of << is neither a mapping nor a list of mappings.",
        "Use the anchor of a mapping, or write the fields out.",
    ),
    "GV110": Code(
        "Number too long",
        "A number has more than 1,000 digits, or a large file has thousands of numbers that exceed 64 bits.",
        "Quote the value if it is text; otherwise shorten the number.",
    ),
    "GV111": Code(
        "Tag does not fit its value",
        "A value does not fit its tag such as !!int, or the tag does not exist in YAML.",
        "Remove the tag. Plain values need none; quotes make a value text.",
    ),
    "GV112": Code(
        "Alias without an anchor",
        "No anchor precedes the alias (*name) in the same document, or the alias is inside the value that it refers to.",
        "Add the anchor (&name), or write the value out. Quote a value that starts with *.",
    ),
    "GV113": Code(
        "Objects in a List",
        "The document is a List of objects, as kubectl get -o yaml prints it. gitvirt writes placements into documents, so each object needs its own document.",
        "Write each item as its own document, with --- between them: kubectl get ... -o json | jq -c '.items[]' helps.",
    ),
    "GV114": Code(
        "Invalid line in .gitvirtignore",
        "The line is not a pattern, such as a lone ! or a backslash at the end; or the whole file is too large.",
        "Fix or remove the line. The patterns are those of gitignore.",
    ),
}
