"""The fuzz targets hold for their own seeds, so that they do not rot between two rounds of fuzzing."""

from __future__ import annotations

import importlib

import pytest

from tests.fuzz.__main__ import TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_holds_for_its_seeds(target: str) -> None:
    module = importlib.import_module(f"tests.fuzz.{target}")
    assert module.SEEDS
    for seed in module.SEEDS:
        module.once(seed)
        module.once(seed[: len(seed) // 2])
