"""GV2xx: one document against the schema of its kind."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV201": Code(
        "Unknown field",
        "The kind has no field of that name in this place: a typing mistake, a wrong indentation, or a field of another API.",
        "Use the name in the hint, or move the field to its place. docs/resources.md lists all fields.",
    ),
    "GV202": Code(
        "Missing field",
        "A required field is missing.",
        "Add the field; the hint describes it.",
    ),
    "GV203": Code(
        "Wrong type",
        "A value has the wrong type: a number instead of text, text instead of an object, or no value at all.",
        'Labels and other texts that look like numbers or words such as true need quotes: "1".',
    ),
    "GV204": Code(
        "Value not allowed",
        "The field takes one of a few values, and letter case matters.",
        "Use one of the values in the message.",
    ),
    "GV205": Code(
        "Malformed text",
        "A name, key, label, time or address does not have the form that its field requires.",
        "The hint describes the form. Names are lower case: letters, digits and '-'.",
    ),
    "GV206": Code(
        "Malformed quantity",
        "A quantity is a number with an optional suffix: m, k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024).",
        "Write 16Gi or 16G instead of 16GB, 500m for half a processor, 1.5 with a dot.",
    ),
    "GV207": Code(
        "Quantity out of range",
        "An amount that must be more than zero is zero or less, or an amount of bytes is less than one byte (m means thousandths).",
        "Correct the amount. Instead of 512m of memory, write 512Mi.",
    ),
    "GV208": Code(
        "Not exactly one of several fields",
        "The fields exclude each other, and exactly one of them is required.",
        "Keep one of them.",
    ),
    "GV209": Code(
        "Field not allowed here",
        "The field contradicts another field, or this kind does not allow it in this place.",
        "Remove the field that the message names.",
    ),
    "GV210": Code(
        "Duplicate entry",
        "Two entries of a list have the same name, device or value.",
        "Give each entry its own.",
    ),
    "GV211": Code(
        "Number out of range",
        "The number is below or above what the field allows.",
        "Use a number within the range.",
    ),
    "GV212": Code(
        "Malformed address",
        "The text is not an IP address or not a network, or the network's address has bits set beyond its prefix.",
        "Write addresses like 10.0.0.12 or fd00::12, and networks like 192.168.100.0/24.",
    ),
    "GV213": Code(
        "Document that cannot be checked in full",
        "A key is not text, a value is not plain data, or the document is too deep or too large.",
        "Put keys and values in quotes; split a document that is too large.",
    ),
    "GV214": Code(
        "Secret data that is not base64",
        "Values under data are base64. Plain text belongs under stringData.",
        "Encode the value, or move it to stringData.",
    ),
    "GV220": Code(
        "Misspelled kind or apiVersion",
        "apiVersion or kind almost matches one of gitvirt's. If gitvirt skipped the document, its object would look deleted.",
        "Write apiVersion and kind as in the hint. To exclude the file, name it in .gitvirtignore.",
    ),
    "GV221": Code(
        "Foreign document",
        "The document does not belong to gitvirt, so it is skipped.",
        "Nothing, if intended. A path in .gitvirtignore silences the notice.",
    ),
}
