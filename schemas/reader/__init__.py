"""Text into plain values: the YAML parser, and the checks around it that make it safe. Knows YAML, and no manifests.

`read` is the only way in for YAML and JSON. Before the parser runs, `depth`, `aliases` and `numerals` examine texts that
could hurt it; `block_scalars` ends documents that it would miss. Afterwards `normalization` makes its values those of YAML
1.2, and `parser_errors` and `error_positions` explain a refusal. `positions` finds line and column of a value on request.
"""

from schemas.reader.read import read
from schemas.reader.value import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value

__all__ = ["BYTE_ORDER_MARK", "MAX_DEPTH", "MAX_DIGITS", "Unreadable", "Value", "read"]
