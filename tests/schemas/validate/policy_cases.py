"""Cases of what a fleet allows: records, names of files, quota, secrets."""

from __future__ import annotations

from tests.schemas.validate.case import PLAIN_ALLOWED, TARGET, Case, encode
from tests.schemas.validate.documents import (
    ephemeral_volume,
    interface,
    machine,
    machine_class,
    machine_pool,
    quota,
    ref,
    secret,
    together,
    volume,
)

WRONG = machine(machineClassRef=ref("nothing-of-the-kind"))

POLICY_CASES = [
    # what only gitvirt writes
    Case(
        "fields that are ignored",
        {
            "m.yaml": machine(
                status={"state": "Running"},
                metadata={"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
            ),
            "v.yaml": volume(
                claimRef={"name": "web", "uid": "1"}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
            ),
            "n.yaml": interface(machineRef={"name": "web"}),
        },
        {
            "GV362 notice m.yaml /status",
            "GV363 notice m.yaml /metadata/uid",
            "GV363 notice m.yaml /metadata/creationTimestamp",
            "GV363 notice v.yaml /spec/claimRef",
            "GV363 notice v.yaml /metadata/deletionTimestamp",
            "GV363 notice n.yaml /spec/machineRef",
        },
    ),
    Case(
        "annotations that have no effect",
        {
            "m.yaml": machine(
                metadata={"annotations": {"gitvirt.dev/pausd": "true", "example.org/pausd": "x"}}
            ),
            "v.yaml": volume(metadata={"annotations": {"gitvirt.dev/paused": "True"}}),
            "db.yaml": machine(
                "db", metadata={"annotations": {"gitvirt.dev/paused": "true", "gitvirt.dev/lab": "x"}}
            ),
        },
        {
            "GV364 warning m.yaml /metadata/annotations/gitvirt.dev~1pausd",
            "GV364 warning v.yaml /metadata/annotations/gitvirt.dev~1paused",
        },
        quote="did you mean gitvirt.dev/paused?",
    ),
    Case("status on the target branch", {"m.yaml": machine(status={"state": "Running"})}, policy=TARGET),
    # names of files
    Case(
        "files in the reconciler's folder",
        {".gitvirt/pools/a.yaml": machine(machineClassRef=ref("nothing")), ".gitvirt/orphans/b.yaml": "a: b"},
        {"GV360 error .gitvirt/pools/a.yaml "},
    ),
    Case(
        "requests about the host of a pool",
        {
            ".gitvirt/requests/Pool-Destroyed/rack-a=1.yaml": "by: ann",
            ".gitvirt/requests/Pool-Destroyed/rack-a.yaml": "by: ann",
        },
        {"GV360 error .gitvirt/requests/Pool-Destroyed/rack-a.yaml "},
    ),
    Case(
        "the same on the target branch",
        {
            ".gitvirt/pools/a.yaml": machine_pool("announced"),
            ".gitvirt/deleting/Machine/default/web.yaml": machine(machineClassRef=ref("gone")),
            "m.yaml": machine(machinePoolRef=ref("announced")),
        },
        policy=TARGET,
    ),
    Case(
        "names that look like a manifest's",
        dict.fromkeys(("a.yaml.bak", "b.yml~", "c.YAML", "d.ymal", "README.md", "yaml", "e.tar.gz"), WRONG)
        | dict.fromkeys((".github/x.yaml", "gitvirt.yaml"), "a: b"),
        {f"GV361 notice {path} " for path in ("a.yaml.bak", "b.yml~", "c.YAML", "d.ymal")},
    ),
    # quota
    Case(
        "every excess of a quota",
        {
            "c.yaml": machine_class("big", cpu="1500m", memory="3Gi"),
            "m.yaml": together(
                machine("a", "lab", machineClassRef=ref("big"), volumes=[ephemeral_volume(size="3Gi")]),
                machine("b", "lab", machineClassRef=ref("big"), power="Off"),
                machine("elsewhere"),
            ),
            "n.yaml": volume("extra", "lab", "2Gi"),
            "q.yaml": quota("lab", machines="1", cpu="2", memory="6Gi", volumes="1", storage="4Gi"),
        },
        {
            "GV501 error q.yaml /spec/hard/count~1machines.compute.ironcore.dev",
            "GV501 error q.yaml /spec/hard/requests.cpu",
            "GV501 error q.yaml /spec/hard/count~1volumes.storage.ironcore.dev",
            "GV501 error q.yaml /spec/hard/requests.storage",
        },
        quote="namespace lab needs 5Gi of requests.storage; its quota is 4Gi",
    ),
    Case(
        "quota with a scope",
        {
            "c.yaml": machine_class("big"),
            "m.yaml": together(machine("a"), machine("b"), machine("c", machineClassRef=ref("big"))),
            "q.yaml": together(
                quota(
                    name="small",
                    machines="1",
                    scope=[{"scopeName": "MachineClass", "operator": "In", "values": ["small"]}],
                ),
                quota(
                    name="big",
                    machines="1",
                    scope=[{"scopeName": "MachineClass", "operator": "NotIn", "values": ["small"]}],
                ),
                quota(name="any", machines="3", scope=[{"scopeName": "MachineClass", "operator": "Exists"}]),
                quota(
                    name="none", volumes="0", scope=[{"scopeName": "VolumeClass", "operator": "DoesNotExist"}]
                ),
            ),
        },
        {"GV501 error q.yaml /spec/hard/count~1machines.compute.ironcore.dev"},
        quote="needs 2 of count/machines.compute.ironcore.dev; its quota is 1",
    ),
    # secrets
    Case(
        "plain secrets",
        {
            "a.yaml": secret("a", stringData={"password": "hunter2"}),
            "b.yaml": secret("b", data={"password": encode("hunter2")}),
            "c.yaml": secret("c", data={"empty": ""}, stringData={}),
        },
        {"GV510 error a.yaml /stringData/password", "GV510 error b.yaml /data/password"},
        quote="everyone who can read this repo can read 'password', and",
    ),
    Case(
        "plain secrets where they are allowed",
        {"a.yaml": secret(stringData={"x": "y"})},
        policy=PLAIN_ALLOWED,
    ),
    Case(
        "encrypted secrets",
        {
            "a.yaml": secret(
                "a", stringData={"x": "ENC[AES256_GCM,data:eA==,iv:x,tag:y,type:str]"}, sops={"mac": "x"}
            ),
            "b.yaml": secret("b", stringData={"x": "-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n"}),
            "c.yaml": secret("c", data={"x": encode("age-encryption.org/v1\n-> X25519 abc\n")}),
            "d.yaml": secret("d", data={"x": encode("-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n")}),
            "e.yaml": secret(
                "e", data={"x": "ENC[AES256_GCM,data:eA==,iv:x,tag:y,type:str]"}, sops={"mac": "x"}
            ),
        },
    ),
    Case(
        "partly encrypted",
        {
            "a.yaml": secret(
                stringData={"a.b": "hunter2", "x": "ENC[AES256_GCM,data:eA==]"}, sops={"mac": "x"}
            )
        },
        {"GV511 error a.yaml /stringData/a.b"},
        PLAIN_ALLOWED,
    ),
]
