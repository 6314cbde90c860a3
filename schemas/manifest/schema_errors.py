"""A validator's errors in our own words: what is wrong, and what was probably meant.

One mistake is one finding. The validator often reports several errors for it:

    mistake                                        errors of the validator            reported
    a misspelled required field                    unknown field, missing field       the unknown field, with a suggestion
    a misspelled field of several exclusive ones   unknown field, none of several     the unknown field
    a value of the wrong type                      type, and every limit it breaks    the type

The values of a Secret are never quoted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema_rs import ValidationError, ValidationErrorKind

from schemas.kinds import Kind
from schemas.manifest.schema_file import Schema, compile_schema, load_schema, only_places
from schemas.manifest.value_rules import base64_violation
from schemas.model.quantity import QuantityError, parse
from schemas.problem import Violation, json_pointer, printable
from schemas.spelling import nearest

Path = tuple[str | int, ...]

QUANTITIES = ("quantity", "positiveQuantity")

_WORDS = {
    "object": "an object (key: value lines)",
    "array": "a list (lines that start with '- ')",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}

_TRUTHS = dict(yes="true", on="true", true="true", no="false", off="false", false="false")

# Fields that users expect in a kind, or in any (None), and what they have to write instead.
_INSTEAD: dict[tuple[Kind | None, str], str] = {
    (Kind.MACHINE_CLASS, "spec"): "this kind has no spec: write capabilities at the top level",
    (Kind.VOLUME_CLASS, "spec"): "this kind has no spec: write capabilities at the top level",
    (Kind.SECRET, "spec"): "this kind has no spec: write data and stringData at the top level",
    (Kind.MACHINE, "cpu"): "the class of the machine sets its processors: machineClassRef",
    (Kind.MACHINE, "memory"): "the class of the machine sets its memory: machineClassRef",
    (None, "imagePullSecretRef"): "hosts log in to registries: see `gitvirt help images.md`",
    (Kind.MACHINE, "sshPublicKeys"): "write guestConfig: {sshAuthorizedKeys: [...]}",
    (Kind.VOLUME, "size"): "write resources: {storage: ...}",
    (Kind.VOLUME, "storage"): "write resources: {storage: ...}",
    (Kind.RESOURCE_QUOTA, "limits"): "write hard",
}

# Fields with keys that people choose. A key alone does not say where it is, so a message names the field too.
_SELECTORS = ("machinePoolSelector", "matchLabels", "volumePoolSelector")
_MAPS_OF_TEXT = ("annotations", "attributes", "data", "labels", "stringData", "volumeAttributes", *_SELECTORS)

# Fields that are forbidden in one place, and why.
_FORBIDDEN = {
    "namespace": "this kind has no namespace",
    "claimRef": "a template cannot be claimed",
    "unclaimable": "a template cannot be unclaimable",
    "osImage": "image is the old name of dataSource.osImage.image; write one of the two",
    "volumeSnapshotRef": "image is the old name of dataSource.osImage.image; write one of the two",
}


class _Finding(NamedTuple):
    """A violation with what is needed to drop those that follow from another one."""

    path: Path
    code: str
    message: str
    hint: str = ""
    covers: str = ""  # the field that an unknown one was meant to be, or that is missing


def explain_errors(kind: Kind | None, file: str, body: object) -> list[Violation]:
    """One Violation for each mistake against the JSON Schema in a file, in the order of the validator.

    Two kinds of errors follow from another one and are dropped: a field that is missing because it was misspelled, and limits
    that a value of the wrong type breaks as well. `kind` is None for settings, which have no kind.
    """
    explainer = _Explainer(kind, file, body)
    errors = compile_schema(file).iter_errors(body)
    findings = [finding for error in errors for finding in explainer.findings(error)]
    meant = {
        (finding.path[:-1], finding.covers)
        for finding in findings
        if finding.code == "GV201" and finding.covers
    }
    wrong_type = {finding.path for finding in findings if finding.code == "GV203"}
    kept: dict[tuple[Path, str, str], Violation] = {}
    for finding in findings:
        if finding.code in ("GV202", "GV208") and any(
            (finding.path, name) in meant for name in finding.covers.split()
        ):
            continue
        if finding.code != "GV203" and finding.path in wrong_type:
            continue
        key = (finding.path, finding.code, finding.covers)
        kept.setdefault(
            key, Violation(json_pointer(finding.path), finding.code, finding.message, finding.hint)
        )
    return list(kept.values())


class _Explainer:
    """What every explanation of one document's errors needs. One method for each kind of error.

    All texts are for people who do not know JSON Schema: they name the field, the value, and what to write instead. A value
    of the document is quoted by `_show`, which shortens it and keeps the values of a Secret to itself.
    """

    def __init__(self, kind: Kind | None, file: str, body: object) -> None:
        self._kind = kind
        self._schema = load_schema(file)
        self._only_places = only_places(file)
        self._body = body

    def findings(self, error: ValidationError) -> Iterator[_Finding]:
        """One error of the validator, as one or more findings."""
        path, value = self._find(error.instance_path)
        rule = self._rule(error.schema_path)
        kinds = ValidationErrorKind
        match error.kind:
            case kinds.AdditionalProperties(unexpected):
                present = value if isinstance(value, dict) else {}
                for name in unexpected:
                    yield self._unknown((*path, name), name, rule, present)
            case kinds.Required(name):
                yield self._missing(path, name, rule, value)
            case kinds.Type(types):
                yield self._wrong_type(path, value, types, error.schema_path)
            case kinds.Enum(options):
                yield self._not_one_of(path, value, options)
            case kinds.PropertyNames(inner):
                yield self._bad_name(path, str(inner.instance), inner)
            case kinds.OneOfNotValid() | kinds.OneOfMultipleValid() if isinstance(value, dict):
                yield self._not_exactly_one(
                    path, value, [choice["required"][0] for choice in rule["oneOf"] if "required" in choice]
                )
            case kinds.OneOfNotValid() | kinds.OneOfMultipleValid():
                return  # the value is not an object, which its wrong type reports
            case kinds.FalseSchema():
                why = _FORBIDDEN[str(path[-1])]
                yield _Finding(path, "GV209", f"{path[-1]} is not allowed here: {why}", "remove the field")
            case kinds.Constant(expected):
                yield self._not_constant(path, value, expected)
            case _:
                yield self._bad_value(path, value, rule, error)

    def _unknown(self, path: Path, name: str, rule: Schema, present: dict[str, object]) -> _Finding:
        """GV201: a field that does not exist here, with the probable one."""
        known = [field for field in rule.get("properties", {}) if field not in present]
        message = f"there is no field {_format_value(name)}"
        hint = _INSTEAD.get((None, name)) or _INSTEAD.get((self._kind, name), "")
        if not hint and (meant := nearest(name, known)):
            return _Finding(path, "GV201", message, f"did you mean {meant}?", meant)
        if not (hint := hint or self._right_place(name)) and 0 < len(known) <= 8:
            hint = f"fields allowed here: {', '.join(known)}"
        return _Finding(path, "GV201", message, hint)

    def _right_place(self, name: str) -> str:
        """A hint, if the kind has this field in exactly one other place."""
        place = self._only_places.get(name)
        if place is None:
            return ""
        return f"write {name} under {place}" if place else f"write {name} at the top level"

    def _missing(self, path: Path, name: str, rule: Schema, value: object) -> _Finding:
        """GV202: a required field, or a misspelling of it among free keys."""
        declared = rule.get("properties", {})
        others = [key for key in value if key not in declared] if isinstance(value, dict) else []
        message = f"{_field(path)} has no {name}, which is required"
        if "additionalProperties" in rule and rule["additionalProperties"] is not False and others:
            typo = nearest(name, others) or next((key for key in others if nearest(key, (name,))), None)
            if typo:
                return _Finding(path, "GV202", message, f"rename {_short(typo)} to {name}", name)
        description = self._description(declared.get(name, {}))
        return _Finding(path, "GV202", message, f"add {name}: {description}" if description else "", name)

    def _wrong_type(
        self, path: Path, value: object, types: list[str], schema_path: list[str | int]
    ) -> _Finding:
        """GV203: a value of another type."""
        if value is None:
            hint = "give it a value, or remove the line"
            return _Finding(path, "GV203", f"{_field(path)} is empty", hint)
        if _is_quantity(schema_path):
            return self._bad_quantity(path, value)
        wanted = " or ".join(_WORDS[name] for name in types if name != "null")
        message = f"{_field(path)} must be {wanted}, not {_kind_of(value)}"
        if schema_path[-3:-1] == ["$defs", "duration"] and type(value) is int and 0 <= value < 10**9:
            return _Finding(path, "GV203", message, f"give it a unit: {value}s")
        return _Finding(path, "GV203", message, self._type_hint(value, types, self._rule(schema_path)))

    def _type_hint(self, value: object, types: list[str], rule: Schema) -> str:
        """How to correct common mistakes, such as a missing quote or dash."""
        if "string" in types and isinstance(value, bool | int | float):
            shown = "" if self._kind is Kind.SECRET else f': "{_format_value(value)}"'
            return f"put it in quotes{shown}"
        if "array" in types and isinstance(value, dict | str):
            return "start each entry with '- '"
        if "object" in types and isinstance(value, str) and rule.get("required") == ["name"]:
            return f"write {{name: {self._show(value).strip(chr(39))}}}"
        if "boolean" in types and isinstance(value, str):
            return f"write {_TRUTHS[value.lower()]} without quotes" if value.lower() in _TRUTHS else ""
        if "integer" in types and isinstance(value, str) and value.strip().lstrip("+-").isdigit():
            return "remove the quotes"
        return ""

    def _not_one_of(self, path: Path, value: object, options: list[Any]) -> _Finding:
        """GV204: a value that is not in the enumeration. YAML 1.1 readers may have turned On into true."""
        choices = [str(option) for option in options if option != ""]
        word = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
        # All that come near: `of` is as close to On as to Off, and one guess would switch machines on.
        meant = [choice for choice in choices if isinstance(word, str) and nearest(word, [choice])]
        message = f"{_field(path)} must be one of {', '.join(choices)}, not {self._show(value)}"
        return _Finding(path, "GV204", message, f"did you mean {' or '.join(meant)}?" if meant else "")

    def _bad_name(self, path: Path, name: str, inner: ValidationError) -> _Finding:
        """A key that its mapping does not allow: a limit of a quota, or a malformed label."""
        if isinstance(inner.kind, ValidationErrorKind.Enum):
            choices = [str(option) for option in inner.kind.options]
            meant = nearest(name, choices)
            hint = f"did you mean {meant}?" if meant else f"it can be {', '.join(choices[:5])}"
            return _Finding((*path, name), "GV201", f"there is no limit {_format_value(name)}", hint)
        message = f"the key {_format_value(name)} is not allowed here"
        return _Finding((*path, name), "GV205", message, self._description(self._rule(inner.schema_path)))

    def _not_exactly_one(self, path: Path, value: dict[str, object], choices: list[str]) -> _Finding:
        """GV208: none or several of fields that exclude each other."""
        present = [name for name in choices if name in value]
        listed = f"{', '.join(choices[:-1])} and {choices[-1]}"
        if present:
            message = f"{' and '.join(present)} exclude each other"
            return _Finding(path, "GV208", message, "keep one of them", " ".join(present))
        return _Finding(
            path, "GV208", f"exactly one of {listed} is needed", "add one of them", " ".join(choices)
        )

    def _not_constant(self, path: Path, value: object, expected: object) -> _Finding:
        """GV204 or GV209: a value that only one constant is allowed for."""
        if path[-1:] == ("unclaimable",):
            message = "a claimed volume cannot be unclaimable"
            return _Finding(path, "GV209", message, "remove claimRef or unclaimable")
        message = f"{_field(path)} must be {expected}, not {self._show(value)}"
        return _Finding(path, "GV204", message, f"write {path[-1]}: {expected}")

    def _bad_value(self, path: Path, value: object, rule: Schema, error: ValidationError) -> _Finding:
        """A value of the right type that breaks a limit or a pattern."""
        if _is_quantity(error.schema_path):
            return self._bad_quantity(path, value)
        if error.schema_path[-2] == "secretValue":
            violation = base64_violation(path)
            return _Finding(path, violation.code, violation.message, violation.hint)
        limits = ValidationErrorKind
        match error.kind:
            case limits.Minimum(limit):
                message = f"{_field(path)} must be at least {limit}, not {self._show(value)}"
                return _Finding(path, "GV211", message, self._range(rule))
            case limits.ExclusiveMinimum(limit):
                message = f"{_field(path)} must be more than {limit}, not {self._show(value)}"
                return _Finding(path, "GV211", message, self._range(rule))
            case limits.Maximum(limit):
                message = f"{_field(path)} must be at most {limit}, not {self._show(value)}"
                return _Finding(path, "GV211", message, self._range(rule))
            case limits.MaxItems(limit):
                hint = f"leave out all but {limit}"
                return _Finding(path, "GV211", f"{_field(path)} has more than {limit} entries", hint)
            case limits.UniqueItems():
                return _Finding(path, "GV210", f"{_field(path)} has an entry twice", "remove one of them")
            case limits.MaxLength(limit):
                message = f"{_field(path)} has more than {limit} characters"
                return _Finding(path, "GV205", message, self._description(rule))
            case _:
                return _Finding(path, "GV205", self._bad_text(path, value), self._text_hint(value, rule))

    @staticmethod
    def _range(rule: Schema) -> str:
        """The allowed range, as a hint."""
        least, most = rule.get("minimum"), rule.get("maximum")
        if (above := rule.get("exclusiveMinimum")) is not None:
            return f"write a number above {above}" + ("" if most is None else f", {most} at most")
        if least is None or most is None:
            return f"write {least} or more" if most is None else f"write {most} or less"
        return f"write a number from {least} to {most}"

    def _bad_text(self, path: Path, value: object) -> str:
        return f"{_field(path)} cannot be {'empty' if value == '' else self._show(value)}"

    def _text_hint(self, value: object, rule: Schema) -> str:
        """The field's description, with a suggestion if the text only needs other letters."""
        description = self._description(rule)
        if isinstance(value, str) and rule.get("pattern") in self._name_patterns():
            folded = "-".join(value.lower().replace("_", "-").replace(" ", "-").split())
            if folded != value and folded.replace("-", "").isalnum() and folded.isascii():
                return f"did you mean {folded.strip('-')}? {description}"
        return description

    def _name_patterns(self) -> list[str]:
        """The patterns of names, for which a suggestion in lower case is useful."""
        definitions = self._schema["$defs"]
        return [definitions[name]["pattern"] for name in ("name", "dnsLabel") if name in definitions]

    def _bad_quantity(self, path: Path, value: object) -> _Finding:
        """GV206 for a malformed quantity, GV207 for one out of range."""
        try:
            amount = parse(value)
        except QuantityError as error:
            return _Finding(path, "GV206", f"{_field(path)}: {error.message}", error.hint)
        if amount.nano < 0:
            return _Finding(path, "GV207", f"{_field(path)} must not be less than zero")
        return _Finding(path, "GV207", f"{_field(path)} must be more than zero")

    def _find(self, instance_path: list[str | int]) -> tuple[Path, object]:
        """Path and value of the error. The validator reports a field named "0" as an index."""
        value: Any = self._body
        path: list[str | int] = []
        for step in instance_path:
            path.append(str(step) if isinstance(value, dict) else step)
            value = value[path[-1]]
        return tuple(path), value

    def _rule(self, schema_path: list[str | int]) -> Schema:
        """The schema object whose keyword failed."""
        rule: Any = self._schema
        for step in schema_path[:-1]:
            rule = rule[int(step) if isinstance(rule, list) else step]
        return rule if isinstance(rule, dict) else {}

    def _description(self, rule: Schema) -> str:
        """The description of a field in the schema, or of the definition that it refers to."""
        own = rule.get("description")
        if own is None and "$ref" in rule:
            own = self._schema["$defs"][rule["$ref"].rpartition("/")[2]].get("description")
        return str(own or "")

    def _show(self, value: object) -> str:
        """The value in quotes. A Secret's values are not shown."""
        return "the current value" if self._kind is Kind.SECRET else _format_value(value)


def _is_quantity(schema_path: list[str | int]) -> bool:
    """Whether the failed keyword belongs to the definition of a quantity."""
    return len(schema_path) > 2 and schema_path[-3] == "$defs" and schema_path[-2] in QUANTITIES


def _field(path: Path) -> str:
    """The last name on the path, with its index: volumes[1]. A key of a map with the map's name: labels.zone."""
    names = [step for step in path if isinstance(step, str)]
    if not path:
        return "the document"
    if isinstance(path[-1], int):
        return f"{_short(names[-1]) if names else ''}[{path[-1]}]"
    if path[-2:-1] and path[-2] in _MAPS_OF_TEXT:
        return f"{path[-2]}.{_short(path[-1])}"
    return _short(path[-1])


def _kind_of(value: object) -> str:
    """The type of a value in the words of YAML."""
    match value:
        case bool():
            return _format_value(value)
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def _format_value(value: object) -> str:
    """A value as quoted in a message. Collections and very large numbers are only described."""
    match value:
        case str():
            return f"'{_short(value)}'"
        case bool():
            return "true" if value else "false"
        case float():
            return str(value)
        case int():
            return str(value) if abs(value) < 10**40 else "so large a number"
        case None:
            return "nothing"
        case _:
            return _kind_of(value)


def _short(text: str) -> str:
    if "PRIVATE KEY-----" in text or "AGE-SECRET-KEY-" in text.upper():
        return "a private key"  # pasted by mistake: messages reach logs and forges
    return printable(text) if len(text) <= 60 else f"{printable(text, 57)}..."
