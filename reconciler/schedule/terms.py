"""Which machines a rule counts, and finding the rules that count a given machine without asking each of them.

A term is what spread and anti-affinity have in common: a namespace, a selector and a topology key. Equal rules of a thousand machines are one
term and one tally. `Terms` is the index: a selector with labels matches only machines that have its first label, so a term is filed under
that label, and a selector without labels under None, where every machine looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reconciler.schedule.request import Labels, Request
from schemas.model.part import Selector


@dataclass(frozen=True, slots=True)
class Term:
    """Machines of a namespace that a selector names, counted over the values of a pool label (or pool by pool)."""

    namespace: str
    selector: Selector
    topology_key: str

    def counts(self, namespace: str, labels: Labels) -> bool:
        return namespace == self.namespace and self.selector.matches(dict(labels))


class Terms:
    """Filed under one label that a machine must have to be counted, so that a look-up costs the machine's labels."""

    def __init__(self, terms: Iterable[Term] = ()) -> None:
        self.filed: dict[tuple[str, tuple[str, str] | None], dict[Term, None]] = {}
        self.found: dict[tuple[str, Labels], tuple[Term, ...]] = {}
        for term in terms:
            self.add(term)

    def add(self, term: Term) -> None:
        label = term.selector.labels[0] if term.selector.labels else None
        terms = self.filed.setdefault((term.namespace, label), {})
        if term not in terms:
            terms[term] = None
            self.found.clear()

    def counting(self, namespace: str, labels: Labels) -> tuple[Term, ...]:
        """The terms that count such a machine, each once. Answers are kept until a term is added: many machines have equal labels."""
        if not self.filed:
            return ()
        found = self.found.get((namespace, labels))
        if found is None:
            found = self.found[namespace, labels] = tuple(self.search(namespace, labels))
        return found

    def search(self, namespace: str, labels: Labels) -> Iterator[Term]:
        for label in (None, *labels):
            for term in self.filed.get((namespace, label), ()):
                if term.counts(namespace, labels):
                    yield term


def terms_of(request: Request) -> Iterator[Term]:
    """Whom the request counts."""
    for rule in (request.anti_affinity, request.spread):
        if rule is not None:
            yield Term(request.key.namespace, rule.selector, rule.topology_key)
