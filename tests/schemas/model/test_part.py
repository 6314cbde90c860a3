"""Taints, tolerations and selectors."""

from __future__ import annotations

import msgspec
import pytest

from schemas.model import Taint, Toleration
from schemas.model.part import LabelSelector


def taint(key: str = "gpu", value: str = "", effect: str = "NoSchedule") -> Taint:
    return msgspec.convert({"key": key, "value": value, "effect": effect}, Taint)


@pytest.mark.parametrize(
    ("toleration", "given", "tolerated"),
    [
        ({"key": "gpu"}, taint(), True),
        ({"key": "gpu"}, taint(value="a100"), False),
        ({"key": "gpu", "value": "a100"}, taint(value="a100"), True),
        ({"key": "gpu", "operator": "Exists"}, taint(value="a100"), True),
        ({"key": "gpu", "operator": "Exists"}, taint(key="other"), False),
        ({"operator": "Exists"}, taint(key="other", value="x"), True),
        ({"key": "gpu", "effect": "NoSchedule"}, taint(), True),
        ({"key": "gpu", "effect": "NoExecute"}, taint(), False),
        ({"key": "gpu", "operator": "", "effect": ""}, taint(effect="NoExecute"), True),
        ({}, taint(), True),
        ({}, taint(value="a100"), False),
    ],
)
def test_a_toleration_matches_key_effect_and_value(
    toleration: dict[str, str], given: Taint, tolerated: bool
) -> None:
    assert msgspec.convert(toleration, Toleration).tolerates(given) is tolerated


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        ({}, {}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "web", "tier": "front"}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "db"}, False),
        ({"matchLabels": {"app": "web"}}, {}, False),
        (
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]},
            {"app": "db"},
            True,
        ),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, {}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, {}, True),
        (
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
            {"app": "web"},
            False,
        ),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, {"app": ""}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, {"app": ""}, False),
        (
            {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            {"app": "web"},
            False,
        ),
    ],
)
def test_a_selector_matches_labels(
    selector: dict[str, object], labels: dict[str, str], matches: bool
) -> None:
    assert msgspec.convert(selector, LabelSelector).selector.matches(labels) is matches


def test_selectors_with_the_same_meaning_are_equal() -> None:
    one = {
        "matchLabels": {"a": "1", "b": "2"},
        "matchExpressions": [{"key": "c", "operator": "In", "values": ["x", "y"]}],
    }
    other = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}],
    }
    assert msgspec.convert(one, LabelSelector).selector == msgspec.convert(other, LabelSelector).selector
