"""Terms of rules: which machines each counts, and an index of terms that gives what a full scan gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.request import AntiAffinityRule, Labels, Request, SpreadRule
from reconciler.schedule.terms import Term, Terms, terms_of
from schemas.model.part import Requirement, Selector
from tests.reconciler.schedule.boards import WEB, ZONE, machine

DB = Selector((("app", "db"),))
WEB_BLUE = Selector((("app", "web"), ("color", "blue")))
NOT_DB = Selector((), (Requirement(key="app", operator="NotIn", values=("db",)),))
WEB_LABELS = (("app", "web"),)


@pytest.mark.parametrize(
    ("selector", "namespace", "labels", "want"),
    [
        pytest.param(WEB, "default", WEB_LABELS, True, id="the label has the value"),
        pytest.param(WEB, "default", (("app", "db"),), False, id="the label has another value"),
        pytest.param(WEB, "default", (), False, id="the label is missing"),
        pytest.param(WEB, "other", WEB_LABELS, False, id="another namespace"),
        pytest.param(Selector(), "default", (), True, id="an empty selector counts every machine"),
        pytest.param(Selector(), "other", (), False, id="an empty selector counts its namespace alone"),
        pytest.param(WEB_BLUE, "default", WEB_LABELS, False, id="one of two labels"),
        pytest.param(WEB_BLUE, "default", (*WEB_LABELS, ("color", "blue")), True, id="both labels"),
        pytest.param(NOT_DB, "default", WEB_LABELS, True, id="a requirement that is met"),
        pytest.param(NOT_DB, "default", (("app", "db"),), False, id="a requirement that is not met"),
    ],
)
def test_a_term_counts_selected_machines_of_its_namespace(
    selector: Selector, namespace: str, labels: Labels, want: bool
) -> None:
    assert Term("default", selector, ZONE).counts(namespace, labels) is want
    found = Terms([Term("default", selector, ZONE)]).counting(namespace, labels)
    assert bool(found) is want


TERMS = st.lists(
    st.builds(
        Term,
        st.sampled_from(["default", "other"]),
        st.sampled_from([WEB, DB, WEB_BLUE, NOT_DB, Selector()]),
        st.sampled_from(["", ZONE]),
    ),
    max_size=8,
)
LABELS = st.dictionaries(
    st.sampled_from(["app", "color"]), st.sampled_from(["web", "db", "blue"]), max_size=2
).map(lambda labels: tuple(sorted(labels.items())))
MACHINES = st.lists(st.tuples(st.sampled_from(["default", "other"]), LABELS), min_size=1, max_size=4)


@given(TERMS, TERMS, MACHINES)
def test_the_index_of_terms_equals_a_full_scan(
    first: list[Term], later: list[Term], machines: list[tuple[str, Labels]]
) -> None:
    index = Terms(first)
    for added in (None, *later):  # also right after each addition, when an answer may be in memory
        if added is not None:
            index.add(added)
            first = [*first, added]
        for namespace, labels in machines:
            found = index.counting(namespace, labels)
            assert len(found) == len(set(found))
            assert set(found) == {term for term in first if term.counts(namespace, labels)}


@pytest.mark.parametrize(
    ("request_", "want"),
    [
        pytest.param(machine("m"), [], id="no rule"),
        pytest.param(
            machine("m", anti_affinity=AntiAffinityRule(WEB)),
            [Term("default", WEB, "")],
            id="anti-affinity pool by pool",
        ),
        pytest.param(
            machine("m", spread=SpreadRule(DB, ZONE)), [Term("default", DB, ZONE)], id="spread over zones"
        ),
        pytest.param(
            machine("m", anti_affinity=AntiAffinityRule(WEB, is_required=False), spread=SpreadRule(DB, ZONE)),
            [Term("default", WEB, ""), Term("default", DB, ZONE)],
            id="both, also where one is a preference",
        ),
    ],
)
def test_the_rules_of_a_request_are_its_terms(request_: Request, want: list[Term]) -> None:
    assert list(terms_of(request_)) == want
