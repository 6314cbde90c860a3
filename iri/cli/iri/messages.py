"""Values of a spec file -> messages of the runtime interface, and messages -> values for output. Pure.

The form is irictl's, so files work with both: snake_case keys, enums by number (or by name), bytes as base64. There is
one difference: an unknown key, which irictl drops silently, is an error here that suggests the right one.

    parse_message: values in -> message, or a SpecError with the path of the field
    render_message: message in -> values, with the values of secret maps and bytes hidden by default

Must never happen: an error message quotes a value, because a secret may be in the wrong field.

    field      written as                            refused
    message    keys and values                       a key that the message does not have, with the closest one as the hint
    map        keys and values                       a key that is not text
    list       a list                                a single value
    enum       number, name, or the name's end       any other value, with all of them as the hint
    bytes      base64, broken into lines or not      other text
    string     text                                  a number or a boolean: YAML has changed it already
    integer    a whole number                        10Gi, with the number of bytes as the hint
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from reconciler.cli.verbs import closest
from schemas.model import quantity

AnyMessage = TypeVar("AnyMessage", bound=Message)

SECRETS = frozenset(("ignition_data", "secret_data", "encryption_data"))
HIDDEN = "(hidden)"
LIMITS: Mapping[int, tuple[int, int]] = {
    FieldDescriptor.TYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.TYPE_INT32: (-(1 << 31), (1 << 31) - 1),
}


class SpecError(Exception):
    """A value that does not fit its field: the field's path, the fault, and a hint."""

    def __init__(self, where: str, message: str, hint: str = "") -> None:
        super().__init__(f"{where or 'the document'}: {message}")
        self.hint = hint


def parse_message(value: object, message_type: type[AnyMessage], where: str = "") -> AnyMessage:
    """The message for one document. `where` is the path of the field in the document."""
    message = message_type()
    _fill(message, value, where)
    return message


def _fill(message: Message, value: object, where: str) -> None:
    """Every key must be a field; null leaves a field unset, as in Kubernetes."""
    if not isinstance(value, dict):
        raise SpecError(where, f"{_describe(value)} where keys and values are expected")
    fields = message.DESCRIPTOR.fields_by_name
    for key, item in value.items():
        place = f"{where}.{key}" if where else str(key)
        field = cast("FieldDescriptor | None", fields.get(key) if isinstance(key, str) else None)
        if field is None:
            raise SpecError(place, "unknown key", _unknown_hint(str(key), list(fields)))
        if item is not None:
            _set(message, field, item, place)


def _set(message: Message, field: FieldDescriptor, item: object, where: str) -> None:
    """By the kind of the field: map, list, message, or scalar."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if not isinstance(item, dict):
            raise SpecError(where, f"{_describe(item)} where keys and values are expected")
        target: Any = getattr(message, field.name)
        convert = _scalar(field.message_type.fields_by_name["value"])
        for key, entry in item.items():
            if not isinstance(key, str):
                raise SpecError(where, f"key {key!r} is not text", "write it in quotes")
            target[key] = convert(entry, f"{where}.{key}")
    elif field.is_repeated:
        if not isinstance(item, list):
            raise SpecError(where, f"{_describe(item)} where a list is expected")
        _extend(message, field, item, where)
    elif field.message_type is not None:
        part: Message = getattr(message, field.name)
        part.SetInParent()
        _fill(part, item, where)
    else:
        setattr(message, field.name, _scalar(field)(item, where))


def _extend(message: Message, field: FieldDescriptor, items: list[object], where: str) -> None:
    """One item per entry; the place of an error has its number."""
    target: Any = getattr(message, field.name)
    for number, item in enumerate(items):
        place = f"{where}[{number}]"
        if field.message_type is not None:
            _fill(target.add(), item, place)
        else:
            target.append(_scalar(field)(item, place))


def _scalar(field: FieldDescriptor) -> Callable[[object, str], object]:
    """How to convert a plain value from a person's file for a scalar field of a message. The function takes the value and where it is;
    it raises SpecError."""
    if field.enum_type is not None:
        enum = field.enum_type
        return lambda value, where: _enum(enum, value, where)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _bytes
    if field.type == FieldDescriptor.TYPE_STRING:
        return _text
    low, high = LIMITS[field.type]
    return lambda value, where: _integer(value, where, low, high)


def _enum(enum: EnumDescriptor, value: object, where: str) -> int:
    """By number, by name, or by the last part of the name, in any letter case."""
    if isinstance(value, int) and not isinstance(value, bool) and value in enum.values_by_number:
        return value
    names = {entry.name: entry.number for entry in enum.values}
    prefix = _common_prefix(list(names))
    if isinstance(value, str):
        given = value.upper()
        for name, number in names.items():
            if given in (name, name.removeprefix(prefix)):
                return number
    choices = ", ".join(f"{number} ({name.removeprefix(prefix).lower()})" for name, number in names.items())
    raise SpecError(where, f"{_describe(value)} that is not one of its values", f"write one of: {choices}")


def _common_prefix(names: list[str]) -> str:
    """Of enum names such as POWER_ON and POWER_OFF: "POWER_"."""
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[:length].rpartition("_")[0] + "_" if "_" in first[:length] else ""


def _bytes(value: object, where: str) -> bytes:
    """Base64, with any white space: people wrap long lines."""
    hint = "bytes are written as base64: `base64 -w0 FILE` makes it"
    if not isinstance(value, str):
        raise SpecError(where, "not base64 text", hint)
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise SpecError(where, "not base64", hint) from None


def _text(value: object, where: str) -> str:
    """A number or a boolean is an error: YAML made it one, and 1.10 would become 1.1."""
    if isinstance(value, str):
        return value
    hint = "write it in quotes" if isinstance(value, bool | int | float) else ""
    raise SpecError(where, f"{_describe(value)} where text is expected", hint)


def _integer(value: object, where: str, low: int, high: int) -> int:
    """True and false are integers to Python, and not here."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(where, f"{_describe(value)} where a whole number is expected", _number_hint(value))
    if not low <= value <= high:
        raise SpecError(where, f"{value} does not fit into the field", f"it holds {low} to {high}")
    return value


def _number_hint(value: object) -> str:
    """A hint for 10Gi and the like: the runtime interface counts bytes."""
    if not isinstance(value, str):
        return ""
    try:
        amount = quantity.parse(value)
    except quantity.QuantityError:
        return ""
    return f"write it as {amount.ceil()}"


def _describe(value: object) -> str:
    """The type of a value, for a message; never the value, which may be a secret in the wrong place."""
    kinds = {
        dict: "a mapping",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a fraction",
    }
    return kinds.get(type(value), "nothing" if value is None else "something else")


def _unknown_hint(key: str, known: list[str]) -> str:
    """The snake_case form of the key, else the closest key, else all keys."""
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in key)
    near = snake if snake in known else closest(key, known)
    return f"did you mean `{near}`?" if near else f"there are: {', '.join(known)}"


def render_message(
    message: Message, *, with_secrets: bool = False, with_zeros: bool = False
) -> dict[str, object]:
    """The value of a message, in the form of a spec file. Secrets are hidden by default.

    A spec file leaves out zeros, as messages on the wire do. For totals that scripts read, `with_zeros` keeps every field.
    """
    value: dict[str, object] = {}
    every = cast("list[FieldDescriptor]", message.DESCRIPTOR.fields) if with_zeros else ()
    for field, item in [(field, getattr(message, field.name)) for field in every] or message.ListFields():
        is_hidden = field.name in SECRETS and not with_secrets
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            convert = _render_scalar(field.message_type.fields_by_name["value"], with_secrets, with_zeros)
            value[field.name] = {
                key: HIDDEN if is_hidden else convert(entry) for key, entry in sorted(item.items())
            }
        elif is_hidden:
            value[field.name] = HIDDEN
        elif field.is_repeated:
            convert = _render_scalar(field, with_secrets, with_zeros)
            value[field.name] = [convert(entry) for entry in item]
        else:
            value[field.name] = _render_scalar(field, with_secrets, with_zeros)(item)
    return value


def _render_scalar(field: FieldDescriptor, with_secrets: bool, with_zeros: bool) -> Callable[[Any], object]:
    """A value for output, hidden where it is a secret."""
    if field.message_type is not None:
        return lambda item: render_message(item, with_secrets=with_secrets, with_zeros=with_zeros)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return lambda item: base64.b64encode(item).decode("ascii")
    return lambda item: item
