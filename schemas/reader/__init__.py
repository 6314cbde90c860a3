"""Text into plain values: the YAML parser, and the checks around it that make it safe. Knows YAML, and no manifests.

`read` is the only way in for YAML and JSON. Before the parser runs, `depth`, `aliases` and `numerals` examine texts that
could hurt it; `block_scalars` ends documents that it would miss. Afterwards `normalization` makes its values those of YAML
1.2, and `parser_errors` and `error_positions` explain a refusal. `positions` finds line and column of a value on request.

Limits: no kind, no schema, no path. `parser` is the only module that imports the parser, `events` the only one that imports
libyaml; no value ever comes from libyaml. Texts come from strangers: every module has to be linear in their length.
"""

from schemas.reader.read import read
from schemas.reader.value import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value

__all__ = ["BYTE_ORDER_MARK", "MAX_DEPTH", "MAX_DIGITS", "Unreadable", "Value", "read"]
