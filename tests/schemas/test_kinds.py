"""Which kind a document has: ours, another program's, or a misspelled one of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.kinds import Foreign, Key, Kind, NearMiss, api_version, recognize, recognize_document


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("domain", ["ironcore.dev", "openkcm.dev", "OpenKCM.dev", "IRONCORE.DEV"])
def test_every_kind_is_recognized_in_any_letter_case(kind: Kind, domain: str) -> None:
    assert recognize(api_version(kind, domain), kind.value) is kind


@pytest.mark.parametrize(
    ("written_version", "written_kind"),
    [
        ("v1", "ConfigMap"),
        ("v1", "ResourceQuota"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("cluster.x-k8s.io/v1beta1", "Machine"),
        ("machine.openshift.io/v1beta1", "Machine"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("core.apinet.ironcore.dev/v1alpha1", "Network"),
        ("metal.ironcore.dev/v1alpha1", "Server"),
        (None, None),
        (None, "Deployment"),
        ("apps/v1", None),
        (1, [2]),
        ("x" * 1000, "Machine"),
    ],
)
def test_a_kind_of_another_program_is_foreign(written_version: object, written_kind: object) -> None:
    found = recognize(written_version, written_kind)
    assert isinstance(found, Foreign)
    assert not found.is_of_ironcore


@pytest.mark.parametrize(
    ("written_version", "written_kind"),
    [
        ("ipam.ironcore.dev/v1alpha1", "Prefix"),
        ("storage.ironcore.dev/v1alpha1", "Bucket"),
        ("storage.ironcore.dev/v1beta1", "BucketClass"),
        ("networking.openkcm.dev/v1alpha1", "LoadBalancer"),
        ("core.ironcore.dev/v1alpha1", "Reservation"),
    ],
)
def test_a_kind_that_only_ironcore_has_is_named(written_version: str, written_kind: str) -> None:
    found = recognize(written_version, written_kind)
    assert isinstance(found, Foreign)
    assert found.is_of_ironcore
    assert written_kind in found.reason


@pytest.mark.parametrize(
    ("written_version", "written_kind", "hint"),
    [
        ("compute.ironcore.dev/v1alpha1", "VirtualMachine", "did you mean Machine?"),
        ("compute.ironcore.dev/v1", "VM", "did you mean Machine?"),
        ("storage.openkcm.dev/v1alpha1", "PersistentVolumeClaim", "did you mean Volume?"),
        ("compute.ironcore.dev/v1alpha1", "Cattle", "its kinds are: MachineClass, MachinePool, Machine"),
        ("core.ironcore.dev/v1alpha1", "Cattle", "its kinds are: ResourceQuota"),
        ("gitvirt.dev/v1alpha1", "Disk", "did you mean Volume?"),
        ("gitvirt.dev/v9", "Machinee", "did you mean Machine?"),
    ],
)
def test_an_unknown_kind_of_our_groups_is_an_error(
    written_version: str, written_kind: str, hint: str
) -> None:
    found = recognize(written_version, written_kind)
    assert isinstance(found, NearMiss)
    assert (found.field, found.hint) == ("kind", hint)


@pytest.mark.parametrize(
    ("written_version", "written_kind", "field", "hint"),
    [
        ("compute.ironcore.dev/v1alpha1", "Machin", "kind", "did you mean Machine?"),
        ("compute.ironcore.dev/v1alpha1", "machine", "kind", "did you mean Machine?"),
        ("compute.ironcore.dev/v1alpha1", "Machines", "kind", "did you mean Machine?"),
        ("compute.ironcore.dev/v1alpha1", "MachinClass", "kind", "did you mean MachineClass?"),
        ("v1", "secret", "kind", "did you mean Secret?"),
        (
            "compute.ironcore.dev/v1",
            "Machine",
            "apiVersion",
            "write apiVersion: compute.ironcore.dev/v1alpha1",
        ),
        (
            "compute.ironcore.de/v1alpha1",
            "Machine",
            "apiVersion",
            "write apiVersion: compute.ironcore.dev/v1alpha1",
        ),
        (
            "compute.ironcore.de/v1alpha1",
            "Machin",
            "apiVersion",
            "write apiVersion: compute.ironcore.dev/v1alpha1",
        ),
        (
            "compute.openkcm.io/v1alpha1",
            "Machine",
            "apiVersion",
            "write apiVersion: compute.openkcm.dev/v1alpha1",
        ),
        ("ironcore.dev/v1alpha1", "Machine", "apiVersion", "write apiVersion: compute.ironcore.dev/v1alpha1"),
        ("compute.ironcore.dev", "Machine", "apiVersion", "write apiVersion: compute.ironcore.dev/v1alpha1"),
        (
            "storage.ironcore.dev/v1alpha1",
            "Machine",
            "apiVersion",
            "write apiVersion: compute.ironcore.dev/v1alpha1",
        ),
        ("v1alpha1", "Volume", "apiVersion", "write apiVersion: storage.ironcore.dev/v1alpha1"),
        ("v1", "Machine", "apiVersion", "write apiVersion: compute.ironcore.dev/v1alpha1"),
        ("V1", "Secret", "apiVersion", "write apiVersion: v1"),
        ("core.ironcore.dev/v1alpha1", "Secret", "apiVersion", "write apiVersion: v1"),
        (None, "Network", "apiVersion", "write apiVersion: networking.ironcore.dev/v1alpha1"),
        (1, "Network", "apiVersion", "write apiVersion: networking.ironcore.dev/v1alpha1"),
        ("core.ironcore.dev/v1alpha1", None, "kind", "write one of: ResourceQuota"),
    ],
)
def test_a_misspelled_kind_gets_the_right_spelling(
    written_version: object, written_kind: object, field: str, hint: str
) -> None:
    found = recognize(written_version, written_kind)
    assert isinstance(found, NearMiss)
    assert (found.field, found.hint) == (field, hint)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"apiversion": "compute.ironcore.dev/v1alpha1", "kind": "Machine"}, "apiVersion"),
        ({"apiVersion": "compute.ironcore.dev/v1alpha1", "Kind": "Machine"}, "kind"),
        ({"kind": "Machine"}, "apiVersion"),
    ],
)
def test_a_misspelled_key_is_a_near_miss(body: dict[str, str], field: str) -> None:
    found = recognize_document(body)
    assert isinstance(found, NearMiss)
    assert found.field == field


@pytest.mark.parametrize(
    "body", [None, [], "text", 5, {}, {"services": {}}, {1: 2, None: 3}, {"Kind": "Deployment"}]
)
def test_other_documents_are_foreign(body: object) -> None:
    assert isinstance(recognize_document(body), Foreign)


@given(st.text(), st.text())
def test_any_text_is_classified(written_version: str, written_kind: str) -> None:
    assert isinstance(recognize(written_version, written_kind), Kind | Foreign | NearMiss)


def test_a_key_reads_as_a_path() -> None:
    assert str(Key(Kind.MACHINE, "shop", "web")) == "Machine/shop/web"
    assert str(Key(Kind.MACHINE_POOL, "", "rack-a")) == "MachinePool/rack-a"
