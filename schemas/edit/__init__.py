"""Fields into text: what gitvirt writes into people's manifests, and how it writes new documents of its own.

`edit` and `edit_all` change bytes, `render` creates them. In the order in which data passes through: `fields` lists what
may be written, `steps` plans the changes, `line_finder` and `parser_finder` locate them in the text, `splice` makes them,
`round_trip` is the last resort, `verification` reads the result back, `refusals` say why an edit is not made. `editor`
has the theory of operation.

The reconciler is the user: `reconciler.write` turns a Plan into edits. The command line edits people's checkouts with the
same functions, so that a person and the reconciler change a file alike.

Limits: nothing here decides what to write, opens a file, knows Git, or knows what a kind is. Bytes in, bytes out.
"""

from schemas.edit.editor import Edited, EditRefused, Means, Outcome, edit, edit_all
from schemas.edit.fields import Annotation, Changes, Field, Setting, Target, Value
from schemas.edit.render import render
from schemas.edit.scalars import UnwritableError
