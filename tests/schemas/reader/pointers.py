"""Every JSON pointer into a value."""

from __future__ import annotations

from schemas.reader import Value


def pointers(value: Value, at: str = "") -> list[str]:
    found = [at]
    if isinstance(value, dict):
        for key, child in value.items():
            token = str(key).replace("~", "~0").replace("/", "~1")
            found += pointers(child, f"{at}/{token}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += pointers(child, f"{at}/{index}")
    return found
