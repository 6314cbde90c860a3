"""Text into plain values: the YAML parser, and all it must not be trusted with. Knows YAML and nothing of manifests.

`read` is the one function through which all YAML and JSON comes in; `positions` finds line and column of a value afterwards.
"""

from schemas.reader.read import read
from schemas.reader.value import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value

__all__ = ["BYTE_ORDER_MARK", "MAX_DEPTH", "MAX_DIGITS", "Unreadable", "Value", "read"]
