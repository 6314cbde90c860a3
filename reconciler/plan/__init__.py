"""What one tick is going to do: an immutable Plan, the same object that `gitvirt plan` prints and `gitvirt run` writes.

Owns the types, the words and the formats. It must not decide anything, nor know files or Git.
"""

from reconciler.plan.action import Action
from reconciler.plan.capacity import Room
from reconciler.plan.change import Base, Change, Held, Plan, Unplaced
from reconciler.plan.declaration import Declaration, Effect

__all__ = ["Action", "Base", "Change", "Declaration", "Effect", "Held", "Plan", "Room", "Unplaced"]
