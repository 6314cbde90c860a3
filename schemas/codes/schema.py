"""GV2xx: one document against the schema of its kind."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV201": Code(
        "Unknown field",
        "The kind has no field of that name at this place: a typing mistake, a wrong indentation, or another API's field.",
        "Use the name the hint gives, or move the field to where it belongs. docs/resources.md lists all fields.",
    ),
    "GV202": Code(
        "Missing field",
        "A field without which the object means nothing is not there.",
        "Add it; the hint says what it is for.",
    ),
    "GV203": Code(
        "Wrong type",
        "A value has the wrong shape: a number where text belongs, text where an object belongs, or nothing at all.",
        'Labels and other texts that look like numbers or words such as true need quotes: "1".',
    ),
    "GV204": Code(
        "Value not among the choices",
        "The field takes one of a few values, letter case included.",
        "Use one of those the finding lists.",
    ),
    "GV205": Code(
        "Malformed text",
        "A name, key, label, time or address is not written as its field demands.",
        "The hint describes the form. Names are lower case: letters, digits and '-'.",
    ),
    "GV206": Code(
        "Malformed quantity",
        "A quantity is a number with an optional suffix: m, k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024).",
        "Write 16Gi or 16G instead of 16GB, 500m for half a processor, 1.5 with a dot.",
    ),
    "GV207": Code(
        "Quantity out of range",
        "An amount that must be more than zero is not, or an amount of bytes is below one byte (m means thousandths).",
        "Correct the amount; 512m of memory is meant to be 512Mi.",
    ),
    "GV208": Code(
        "Not exactly one of several fields",
        "The fields exclude each other, and one of them is needed.",
        "Keep the one that is meant.",
    ),
    "GV209": Code(
        "Field that cannot stand here",
        "The field contradicts another field, or this kind or place does not have it.",
        "Remove one of the two, as the finding says.",
    ),
    "GV210": Code(
        "Same entry twice",
        "Two entries of a list have the same name, device or value.",
        "Give each its own.",
    ),
    "GV211": Code(
        "Number out of range",
        "The number is below or above what the field allows.",
        "Use a number within the range.",
    ),
    "GV212": Code(
        "Malformed address",
        "The text is no IP address, or no network, or a network's address has bits set beyond its length.",
        "Write addresses like 10.0.0.12 or fd00::12, and networks like 192.168.100.0/24.",
    ),
    "GV213": Code(
        "Document that cannot be checked in full",
        "A key is not text, a value is no plain data, or the document is too deep or too large.",
        "Put keys and values in quotes; split what is too large.",
    ),
    "GV214": Code(
        "Secret data that is not base64",
        "Values under data are base64. Plain text belongs under stringData.",
        "Encode the value, or move it to stringData.",
    ),
    "GV220": Code(
        "Almost a kind of gitvirt",
        "apiVersion or kind is close to one of gitvirt's and is none. Skipped, its object would look as if it had been removed.",
        "Write apiVersion and kind as the hint says; to keep the file out, name it in .gitvirtignore.",
    ),
    "GV221": Code(
        "Foreign document",
        "The document belongs to something else, so it is skipped.",
        "Nothing, if that is what it is. A path in .gitvirtignore silences the notice.",
    ),
}
