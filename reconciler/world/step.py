"""One step of the world, from one snapshot to the next: read what changed, settle what that concerns, count it, judge it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import FileChange, Repo, Snapshot
from reconciler.gitstore.signatures.signers import Signers
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.world.objects.generated import absences
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import related
from reconciler.world.objects.resolve import announced, settled
from reconciler.world.objects.validation import concerned, faults
from reconciler.world.pools.announcement import pool_state
from reconciler.world.pools.capacity_ledger import Charge, orphan_charge
from reconciler.world.reports.reports import Report
from reconciler.world.reports.signed import judge
from reconciler.world.source import rules, source_head
from reconciler.world.source.contents import Doc, object_at
from reconciler.world.source.files import Taken, is_retained, take_live, take_source, wanted_objects
from reconciler.world.source.freeze import FreezeChange, asked, hold
from reconciler.world.state import State, pool_of_orphan
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineClass, Object, VolumeClass
from schemas.settings.fleet import FleetSettings, SignatureSettings

POOLS = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
POOL_OF_CLASS = {Kind.MACHINE_CLASS: Kind.MACHINE_POOL, Kind.VOLUME_CLASS: Kind.VOLUME_POOL}
Changed = dict[Key, tuple[ObjectState | None, ObjectState | None]]  # before, after
WIDELY_USED = frozenset({*POOL_OF_CLASS, Kind.NETWORK, Kind.SECRET})


class Step:
    """`take` does it all; what came of it stands in the attributes. A step that fails leaves a state that is of no use."""

    def __init__(
        self, state: State, repo: Repo, snapshot: Snapshot, now: datetime, ambient: Mapping[str, str]
    ) -> None:
        self.state = state
        self.repo = repo
        self.snapshot = snapshot
        self.now = now
        self.ambient = ambient
        self.dirty: set[Key] = set()
        self.source_paths: set[str] = set()
        self.live_paths: set[str] = set()
        self.blobs_read = 0
        self.is_freed = False
        self.is_ruled_anew = False
        self.news: set[str] = set()  # paths that differ between the source reconciled last and the one in use
        self.ours: ObjectId | None = None  # the newest commit on live that a reconciler made
        self.use: ObjectId | None = state.own_live  # that, or where there is none, the head

    def take(self) -> None:
        was_fresh = self.state.is_fresh
        touched = self._heads()
        touched |= self._reports()
        changed = self._settle(touched)
        for key, (before, after) in self._settle(self._hold(changed)).items():
            changed[key] = (changed[key][0] if key in changed else before, after)
        self._count(changed)
        self._pools(changed)
        self._orphans()
        self._judge(touched, changed)
        if was_fresh:
            self.dirty = set(self.state.known)
        else:
            self._spread(changed)
        self.state.is_fresh = False

    # Commits and files

    def _heads(self) -> set[Key]:
        state, repo, live = self.state, self.repo, self.snapshot.target
        if state.is_fresh or live != state.live_commit:
            state.last, self.ours = source_head.last_reconciled(repo, live)
            self.use = self.ours or live
        chosen = source_head.select_source_head(
            repo,
            self.snapshot.source,
            state.last,
            (self._signatures(), self._verifier),
            self.now,
            lambda: self._fleet(self.use),
        )
        if chosen.use != state.last:
            chosen = source_head.check_fleet_id(
                chosen, state.last, self._fleet(self.use), self._fleet(chosen.use)
            )
        if chosen != state.head:
            state.head, state.problems = chosen, None
        news = {}
        if state.last is not None and chosen.use is not None and chosen.use != state.last:
            news = {change.path: change for change in repo.diff(state.last, chosen.use)}
        touched = self._source(chosen.use, news)
        return touched | self._live(live)

    def _source(self, use: ObjectId | None, news: dict[str, FileChange]) -> set[Key]:
        state, was_fresh = self.state, self.state.is_fresh
        changes = list(self.repo.diff(state.source_commit, use)) if use != state.source_commit else []
        for change in changes:
            if change.after is not None:
                state.source.files[change.path] = change.after
            else:
                state.source.files.pop(change.path, None)
        ruled = rules.rules(self.repo, state.source.files, news, self.use, state.rules)
        is_new_order = ruled is not state.rules
        if is_new_order:
            state.rules, state.problems = ruled, None
            gone = [change for change in changes if change.after is None]
            changes = [*gone, *(FileChange(path, None, file) for path, file in state.source.files.items())]
        taken = take_source(self.repo, state.readings, state.source, changes, ruled)
        state.news = frozenset(news)
        self.news |= news.keys() | {path for path, *_ in changes if state.held.pop(path, None)}
        state.source_commit = use
        self.source_paths |= set(news) if was_fresh and state.last else {change.path for change in changes}
        if is_new_order and not was_fresh:
            self.is_ruled_anew = True
            taken.keys.update(pool.key for pools in state.pools.values() for pool in pools.values())
            for report in state.reports.by_poollet.values():
                taken.keys.update(report.said, report.pools_told_of)
        return self._with_flipped(taken)

    def _hold(self, changed: Changed) -> frozenset[Key]:
        """Whom it concerns that files are held from now on, because they change what may not change, or no longer."""
        paths = asked(self.state, self.news, changed)
        turned = hold(self.state, self.repo, paths) if paths else FreezeChange()
        self.source_paths |= turned.paths
        self.dirty |= turned.keys
        return turned.keys

    def _live(self, live: ObjectId | None) -> set[Key]:
        """Only what reconcilers wrote counts. What others did to live since is not read: the next commit is made on the last one of
        a reconciler, so foreign edits are gone from it."""
        state = self.state
        if live == state.live_commit:
            return set()
        own = self.use
        changes = list(self.repo.diff(state.own_live, own))
        taken = take_live(self.repo, state.readings, state.live, changes, wanted_objects(state.source))
        self.live_paths |= self._of_other_reconcilers(own, changes)
        foreign = self.repo.diff(own, live) if own != live else ()
        state.foreign_edits = tuple(sorted(change.path for change in foreign))
        state.own_live, state.live_commit = own, live
        if any(is_retained(change.path) for change in changes):
            self._retain()
        return self._with_flipped(taken)

    def _of_other_reconcilers(self, own: ObjectId | None, changes: list[FileChange]) -> set[str]:
        """The files of live that differ from before, but for what we wrote there ourselves."""
        state = self.state
        if state.is_fresh:
            return set()
        if own is not None and state.written is not None and self.repo.is_descendant(own, state.written):
            changes = list(self.repo.diff(state.written, own)) if own != state.written else []
        return {change.path for change in changes}

    def _with_flipped(self, taken: Taken) -> set[Key]:
        """A file that can be understood again, or no longer, concerns all that live has from it."""
        self.blobs_read += taken.blobs_read
        if taken.flipped:
            self.state.problems = None
        for path in taken.flipped:
            keys = {*self.state.live.keys_at(path), *self.state.source.keys_at(path)}
            taken.keys |= keys
            self.dirty |= keys  # what they are may be the same; why is told of them
        return taken.keys

    def _retain(self) -> None:
        """What is retained is few, and known by its uid."""
        state = self.state
        for uid in state.retained:
            self._charge(("retained", uid), None)
        state.retained = {}
        for path, contents in state.live.contents.items():
            if is_retained(path):
                for doc in contents.docs:
                    if doc.record is not None:
                        known = ObjectState(
                            doc.key, self._load(doc), Origin.RETAINED, doc.record, None, doc.place
                        )
                        state.retained[doc.record.uid] = known
        for uid, known in state.retained.items():
            self._charge(("retained", uid), state.ledger.charge_of(known, {}))

    def _signatures(self) -> SignatureSettings:
        """What was in force when the source was reconciled last; without that, what the head itself says."""
        state = self.state
        commit = state.last or self.snapshot.source
        if commit != state.signatures[0]:
            if commit is not None and commit == state.source_commit:
                settings: FleetSettings | None = state.rules.settings
            else:
                kept = rules.settings_at(self.repo, self.use)
                settings = rules.settings_at(self.repo, commit) or kept
            state.signatures = (commit, settings.signatures if settings else SignatureSettings())
        return state.signatures[1]

    def _fleet(self, commit: ObjectId | None) -> str:
        settings = rules.settings_at(self.repo, commit)
        return settings.fleet.id if settings else ""

    def _verifier(self, signers: Signers) -> Verifier:
        return Verifier(signers, self.ambient)

    # Reports

    def _reports(self) -> set[Key]:
        state = self.state
        ours = {name: report.is_accepted for name, report in state.reports.by_poollet.items()}
        beats, silent = dict(state.reports.heartbeats), dict(state.reports.silent)
        moved = state.reports.advance(self.repo, self.snapshot.reports, self.now, self._accepts)
        self.blobs_read += moved.blobs_read
        keys = moved.keys
        if moved.poollets or any(key.kind in POOLS for key in keys):
            state.problems = None
        for name, report in state.reports.by_poollet.items():
            is_other = ours.get(name) != report.is_accepted
            if is_other:
                keys.update(report.said)
                state.problems = None
            if is_other or beats.get(report.writer) != state.reports.heartbeats[report.writer]:
                keys.update(report.pools_told_of)
        turned = {name for (name, _), _ in silent.items() ^ state.reports.silent.items()}
        turned |= {
            writer[0]
            for writer, _ in beats.items() ^ state.reports.heartbeats.items()
            if not state.reports.is_written_by(writer)
        }
        keys.update(pool for name in turned for pool in state.pools_of(name))
        self.dirty |= keys
        return keys

    def _accepts(self, report: Report) -> bool:
        """Whether it may be relied on. Each commit's signature is looked at once, and all again under other settings."""
        rules = self.state.rules
        if report.judged != report.commit or self.is_ruled_anew:
            is_off = rules.settings.signatures.mode == rules.before.signatures.mode == "off"
            fleets: tuple[FleetSettings, ...] = () if is_off else (rules.settings, rules.before)
            before = (report.unsigned, report.is_refused)
            judge(report, self.repo.read(report.commit) if fleets else b"", fleets, self._verifier, self.now)
            if before != (report.unsigned, report.is_refused):
                self.state.problems = None
        return self.state.is_ours(report)

    # Objects

    def _settle(self, touched: Iterable[Key]) -> Changed:
        """What is known of each now; those for which that is something else than before."""
        state = self.state
        changed: Changed = {}
        for key in touched:
            before, after = state.known.get(key), self._settled(key)
            if before == after:
                if key.kind in POOLS:
                    changed[key] = (before, after)  # its announcement may be another
                continue
            if after is None:
                del state.known[key]
            else:
                state.known[key] = after
            state.relations.replace(before, after)
            state.population.replace(before, after)
            changed[key] = (before, after)
        absences(changed, state.known, state.relations)
        return changed

    def _settled(self, key: Key) -> ObjectState | None:
        state = self.state
        found = settled(key, state.source, state.live, self._load)
        if found is None and key.kind in POOLS and state.rules.policy.has_open_pools:
            announcement = state.announcement(key)
            return announced(key, announcement) if announcement else None
        return found

    def _load(self, doc: Doc) -> Object:
        if doc.object is not None:
            return doc.object
        self.blobs_read += 1
        return object_at(doc.place, self.repo.read(self.state.live.files[doc.place.path].id))

    # Counting

    def _count(self, changed: Changed) -> None:
        state = self.state
        recount: set[Key] = set()
        for key in changed:
            if key.kind in POOL_OF_CLASS:
                known = state.known.get(key)
                object = known.object if known else None
                offer = state.offers[POOL_OF_CLASS[key.kind]]
                offer.set(key.name, object if isinstance(object, MachineClass | VolumeClass) else None)
                recount.update(state.relations.users.get(key))
                state.ledger.forget_class()
                self.is_freed = True
            elif key.kind is Kind.RESOURCE_QUOTA:
                quotas = state.quotas.setdefault(key.namespace, set())
                (quotas.add if key in state.known else quotas.discard)(key)
                self.is_freed = True
        classes = state.offers[Kind.MACHINE_POOL].classes
        for key in recount.union(changed):
            known = state.known.get(key)
            self._charge(key, state.ledger.charge_of(known, classes) if known else None)  # type: ignore[arg-type]

    def _orphans(self) -> None:
        """Few, and counted anew: what is assigned where an orphan of its uid stands is charged already."""
        state = self.state
        wanted: dict[tuple[str, str, str], Charge] = {}
        for _, orphan in state.orphans():
            pool = pool_of_orphan(orphan)
            known = state.known.get(Key(Kind(orphan.kind), orphan.namespace, orphan.name))
            is_charged = (
                known is not None and orphan.uid == known.record.uid and known.record.pool == pool.name
            )
            if not is_charged:
                wanted["orphan", str(pool), orphan.id] = Charge(pool, "", "", orphan_charge(orphan))
        for name in state.orphaned - wanted.keys():
            self._charge(name, None)
        for name, charge in wanted.items():
            self._charge(name, charge)
        state.orphaned = set(wanted)

    def _charge(self, of: object, charge: Charge | None) -> None:
        self.is_freed |= self.state.ledger.set(of, charge)

    def _pools(self, changed: Changed) -> None:
        state = self.state
        asked = {key for key in changed if key.kind in POOLS}
        for kind in {POOL_OF_CLASS[key.kind] for key in changed if key.kind in POOL_OF_CLASS}:
            asked |= {pool.key for pool in state.pools[kind].values()}
        for key in asked:
            pools, known, announcement = state.pools[key.kind], state.known.get(key), state.announcement(key)
            before = pools.get(key.name)
            if known is None and announcement is None:
                pools.pop(key.name, None)
                after = None
            else:
                after = pools[key.name] = pool_state(key, known, announcement, state.offers[key.kind])
            if before != after:
                self.is_freed = True
                self.dirty.add(key)
                self.dirty.update(state.relations.on_pool.get(key))
                if before is None or after is None or before.grant != after.grant:
                    self.dirty |= self._reported_on(key)

    def _reported_on(self, pool: Key) -> set[Key]:
        """Objects on which another word counts when another host has the grant."""
        reports = self.state.reports
        return {
            key
            for name in reports.announcers(pool)
            for key, said in reports.by_poollet[name].said.items()
            if said.pool == pool.name
        }

    # Judging

    def _judge(self, touched: set[Key], changed: Changed) -> None:
        state = self.state
        if state.is_fresh or self.is_ruled_anew:
            asked = {*state.known, *state.faults}
        else:
            # A second document of an identity changes nothing that is known of it, and is held against it.
            asked = concerned({*touched, *changed}, state.known, state.relations)
        found = faults(asked, state.known, state.relations, state.source)
        for key in asked:
            before, after = state.faults.get(key, ()), found.get(key, ())
            if before == after:
                continue
            self.dirty.add(key)
            state.problems = None
            if after:
                state.faults[key] = after
            else:
                del state.faults[key]

    def _spread(self, changed: Changed) -> None:
        """To whom else it matters."""
        state = self.state
        for key, (before, after) in changed.items():
            if before is after:
                continue
            self.dirty.add(key)
            self.is_freed |= gives_way(before, after)
            is_same_to_users = before is not None and after is not None and before.object == after.object
            if key.kind in WIDELY_USED and is_same_to_users and before.origin is after.origin:  # type: ignore[union-attr]
                continue
            for known in (before, after):
                if known is not None:
                    for keys in related(known, state.relations):
                        self.dirty.update(keys)
        if self.is_freed:
            self.dirty |= state.relations.waiting
        # Few, and whether they may go to their pool depends on who else goes there.
        self.dirty |= state.relations.astray


def gives_way(before: ObjectState | None, after: ObjectState | None) -> bool:
    """Whether a placed machine may stand in fewer ways than it did, to those that ask for distance or an even spread."""
    if before is None or not before.record.pool or not isinstance(before.object, Machine):
        return False
    if after is None or not isinstance(after.object, Machine):
        return True
    is_same = before.object.metadata.labels == after.object.metadata.labels
    return not is_same or before.object.spec.anti_affinity != after.object.spec.anti_affinity
