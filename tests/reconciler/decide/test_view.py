from __future__ import annotations

from reconciler.decide.decide import decide_needs
from reconciler.decide.view import View
from reconciler.world.world import World
from tests.reconciler.decide.small import NOW, Small


def test_the_world_answers_what_the_rules_ask() -> None:
    for view in (World(), Small()):
        asked: View = view
        assert decide_needs(asked, frozenset(), NOW) == ()
