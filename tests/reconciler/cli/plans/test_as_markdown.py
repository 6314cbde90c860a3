"""Markdown of a plan: words of people and hosts stay words, what is destroyed is never hidden, and no comment is too long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cli.plans import as_markdown
from reconciler.cli.plans.entries import group_entries
from reconciler.cli.plans.outline import Entry, FieldLine, FilePlace, Outline, PlanSection, Standing, Survival
from reconciler.plan.types import PendingApproval, Plan, PoolUsage
from schemas.effects.effect import Loss, LossKind
from schemas.kinds import Key, Kind
from schemas.problem import Problem, Severity

MOST = 40_000  # bytes


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain words", "plain words"),
        ("ask @ada", "ask &#64;ada"),
        ("see #12", "see \\#12"),
        ("<b>", "&lt;b&gt;"),
        ("a|b", "a\\|b"),
        ("![x](y)", "\\!\\[x\\](y)"),
        ("a\\b", "a\\\\b"),
        ("a&amp;b", "a&amp;amp;b"),
        ("~~a~~", "\\~\\~a\\~\\~"),
    ],
)
def test_signs_of_markup_are_escaped_once(text: str, want: str) -> None:
    assert as_markdown._plain(text) == want


def machine(name: str) -> Key:
    return Key(Kind.MACHINE, "default", name)


def disk(owner: str) -> Loss:
    return Loss(LossKind.LOCAL_DISK, "root", owner, 10 << 30)


def outline(*entries: Entry, plan: Plan | None = None, **more: object) -> Outline:
    return Outline(plan or Plan("source", "target"), group_entries(entries), **more)  # type: ignore[arg-type]


def visible(text: str) -> str:
    """What a reader sees without a click."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def test_what_destroys_comes_first_and_is_not_folded() -> None:
    many = [
        Entry(PlanSection.ADD, machine(f"new{each}"), target="a", facts=(str(each),)) for each in range(9)
    ]
    gone = Entry(PlanSection.DELETE, machine("db"), pool="a", losses=(disk("db"),))
    moved = Entry(PlanSection.MOVE, machine("web"), pool="a", target="b", losses=(disk("web"),), is_move=True)
    changed = Entry(PlanSection.CHANGE, machine("ci"), pool="a", losses=(disk("ci"),))
    text = as_markdown.render(outline(*many, changed, moved, gone))
    first = text.splitlines()[0]
    assert "🔴 1 to DELETE (destroys 1 local disk, 10Gi)" in first
    assert "🔵 1 to move (DESTROYS 1 local disk, 10Gi)" in first
    seen = visible(text)
    assert [seen.index(f"Machine/default/{name}`") for name in ("db", "web", "ci")] == sorted(
        seen.index(f"Machine/default/{name}`") for name in ("db", "web", "ci")
    )
    assert seen.count("DESTROYS local disk root, 10Gi") == 3
    assert "new1" not in seen


def test_no_text_ends_its_block() -> None:
    bad = "```\n</details>\n# @all | ![x](http://y)\x1b[2J"
    entry = Entry(
        PlanSection.CHANGE,
        machine("web"),
        fields=(FieldLine("spec.x", bad, bad, bad),),
        facts=(bad,),
        place=FilePlace(bad, 0),
    )
    problem = Problem(severity=Severity.ERROR, code="GV1", message=bad, hint=bad, file=bad, line=1)
    text = as_markdown.render(outline(entry, plan=Plan("s", "t", problems=(problem,))))
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert fences == ["```diff", "```"]
    assert text.count("\n</details>") == 2
    assert "\x1b" not in text


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,62}", fullmatch=True)
TEXTS = st.text(max_size=600)


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Some thousand entries that mostly say different things, so that few are grouped."""
    count = draw(st.integers(0, 3000))
    text, name, path = draw(TEXTS), draw(NAMES), draw(TEXTS)
    sections = draw(st.lists(st.sampled_from(list(PlanSection)), min_size=1, max_size=6))
    standings = draw(st.lists(st.sampled_from(list(Standing)), min_size=1, max_size=4))
    made = []
    for number in range(count):
        key = machine(f"{name}-{number * 7}")
        made.append(
            Entry(
                sections[number % len(sections)],
                key,
                standings[number % len(standings)],
                pool="p" * (number % 60),
                target="q" * (number % 50),
                fields=(FieldLine(f"spec.{number}", text, text, text),) * (number % 30),
                facts=(f"{number} {text}",) * (number % 40),
                losses=(disk(key.name),) * (number % 2),
                is_move=number % 3 == 0,
                place=FilePlace(f"{path}{number}", 0),
            )
        )
    return made


@settings(max_examples=25, deadline=None)
@given(entries(), TEXTS, st.integers(0, 500))
def test_no_plan_is_longer_than_a_forge_takes(found: list[Entry], text: str, count: int) -> None:
    """Whatever is left out is counted, and the verdict counts all of it."""
    keys = tuple(machine(f"k{number}") for number in range(count))
    plan = Plan(
        "s",
        "t",
        pending_approvals=(PendingApproval(text, Kind.MACHINE, keys, "Gitvirt-Approve: 0123"),) * (count % 9),
        pool_requests=(text,) * count,
        problems=tuple(
            Problem(severity=severity, code="GV1", message=text, file=f"{text}{number}", line=1)
            for severity in Severity
            for number in range(count)
        ),
    )
    pools = {"cpu": 1000, "memory": 1 << 40}
    usage = [
        PoolUsage(Key(Kind.MACHINE_POOL, "", f"rack{number}"), pools, {"cpu": number}, pools)
        for number in range(count)
    ]
    survival = Survival(tuple((f"rack{number}", keys) for number in range(count)))
    made = outline(*found, plan=plan, usage=tuple(usage), survival=survival, notes=(text,) * (count % 3))
    assert len(as_markdown.render(made).encode()) < MOST


def test_what_is_left_out_is_counted() -> None:
    found = [
        Entry(PlanSection.DELETE, machine(f"{number:04}x"), facts=(f"{number}" * 30,))
        for number in range(1000)
    ]
    text = as_markdown.render(outline(*found))
    shown = text.count("**`Machine/")
    assert 50 < shown < 1000
    assert f"… and {1000 - shown:,} more, left out of this comment: `gitvirt plan` lists all" in text
    assert text.startswith("### gitvirt plan: 🔴 1,000 to DELETE")
