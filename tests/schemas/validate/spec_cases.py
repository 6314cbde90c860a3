"""Cases of what one document says, alone or beside others: use, spread, networks, storage."""

from __future__ import annotations

from tests.schemas.validate.case import DECLARED, ZONE, Case
from tests.schemas.validate.documents import (
    document,
    ephemeral_interface,
    interface,
    machine,
    machine_pool,
    network,
    ref,
    snapshot,
    together,
    uses_interface,
    uses_volume,
    volume,
)

SPEC_CASES = [
    # use
    Case(
        "volume of two machines",
        {
            "a.yaml": machine("a", volumes=[uses_volume("data")]),
            "b.yaml": machine("b", volumes=[uses_volume("data")]),
            "v.yaml": volume(),
        },
        {"GV320 error b.yaml /spec/volumes/0/volumeRef/name"},
        quote="already belongs to machine a in a.yaml",
    ),
    Case(
        "volume twice in one machine",
        {"m.yaml": machine(volumes=[uses_volume("data", "x"), uses_volume("data", "y")]), "v.yaml": volume()},
        {"GV320 error m.yaml /spec/volumes/1/volumeRef/name"},
    ),
    Case(
        "interface of two machines",
        {
            "a.yaml": machine("a", networkInterfaces=[uses_interface("nic")]),
            "b.yaml": machine("b", networkInterfaces=[uses_interface("nic")]),
            "n.yaml": interface(),
        },
        {"GV321 error b.yaml /spec/networkInterfaces/0/networkInterfaceRef/name"},
    ),
    Case(
        "unclaimable volume",
        {"m.yaml": machine(volumes=[uses_volume("data")]), "v.yaml": volume(unclaimable=True)},
        {"GV322 error m.yaml /spec/volumes/0/volumeRef/name"},
    ),
    # within one document
    Case(
        "EFI variable twice",
        {
            "m.yaml": machine(
                efiVars=[
                    {"name": "Boot", "uuid": "8be4df61-93ca-11d2-aa0d-00e098032b8c", "value": "1"},
                    {"name": "Boot", "uuid": "8BE4DF61-93ca-11d2-aa0d-00e098032b8c", "value": "2"},
                    {"name": "Boot", "uuid": "00000000-93ca-11d2-aa0d-00e098032b8c", "value": "2"},
                ]
            )
        },
        {"GV330 error m.yaml /spec/efiVars/1/name"},
    ),
    Case(
        "tolerations that mean nothing",
        {
            "m.yaml": machine(
                tolerations=[
                    {"key": "a", "operator": "Exists", "value": "x"},
                    {"operator": "Equal", "value": "x"},
                    {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3},
                    {"operator": "Exists"},
                    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3},
                ]
            ),
            "v.yaml": volume(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
        },
        {
            "GV332 error m.yaml /spec/tolerations/0/value",
            "GV332 error m.yaml /spec/tolerations/1/operator",
            "GV332 error m.yaml /spec/tolerations/2/tolerationSeconds",
            "GV332 error v.yaml /spec/tolerations/0/value",
        },
    ),
    Case(
        "taint twice",
        {
            "p.yaml": machine_pool(
                taints=[
                    {"key": "a", "value": "1", "effect": "NoSchedule"},
                    {"key": "a", "value": "2", "effect": "NoSchedule"},
                    {"key": "a", "effect": "NoExecute"},
                ]
            )
        },
        {"GV333 error p.yaml /spec/taints/1"},
    ),
    Case(
        "a data source that nothing reads",
        {
            "v.yaml": document(
                "storage", "Volume", "v", None, {"spec": {"dataSource": {"osImage": {"image": "a"}}}}
            )
        },
        {"GV331 error v.yaml /spec"},
    ),
    Case(
        "an empty data source is none",
        {"v.yaml": document("storage", "Volume", "v", None, {"spec": {"dataSource": {}}})},
        set(),
    ),
    Case(
        "peerings with itself and twice",
        {
            "n.yaml": network(
                "n",
                peerings=[
                    {"name": "a", "networkRef": {"name": "n"}},
                    {"name": "b", "networkRef": {"name": "o"}},
                    {"name": "c", "networkRef": {"name": "o", "namespace": "default"}},
                    {"name": "b", "networkRef": {"name": "p"}},
                    {"name": "d", "networkRef": {"name": "n", "namespace": "other"}},
                ],
            )
        },
        {
            "GV345 error n.yaml /spec/peerings/0/networkRef",
            "GV345 error n.yaml /spec/peerings/2/networkRef",
            "GV345 error n.yaml /spec/peerings/3/name",
        },
    ),
    # spread and anti-affinity
    Case(
        "rules that do not concern their own machine",
        {
            "m.yaml": machine(
                metadata={"labels": {"app": "web"}},
                spread={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}},
                antiAffinity={
                    "labelSelector": {
                        "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]
                    }
                },
            )
        },
        {
            "GV334 warning m.yaml /spec/spread/labelSelector",
            "GV334 warning m.yaml /spec/antiAffinity/labelSelector",
        },
    ),
    Case(
        "topology key that no pool has",
        {
            "m.yaml": machine(
                metadata={"labels": {"app": "web"}},
                spread={"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}},
                antiAffinity={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}},
            ),
            "p.yaml": machine_pool(labels={ZONE: "z1"}),
        },
        {"GV335 warning m.yaml /spec/spread/topologyKey"},
    ),
    Case(
        "more machines than zones",
        {
            "m.yaml": together(
                *(
                    machine(
                        name,
                        metadata={"labels": {"app": "web"}},
                        antiAffinity={"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}},
                    )
                    for name in ("a", "b", "c")
                )
            ),
            "p.yaml": together(machine_pool("p", {ZONE: "z1"}), machine_pool("q", {ZONE: "z2"})),
        },
        {"GV336 warning m.yaml /spec/antiAffinity"},
        DECLARED,
        quote="antiAffinity separates 3 machines",
    ),
    Case(
        "as many machines as pools",
        {
            "m.yaml": together(
                *(
                    machine(
                        name,
                        metadata={"labels": {"app": "web"}},
                        antiAffinity={"labelSelector": {"matchLabels": {"app": "web"}}},
                    )
                    for name in ("a", "b")
                )
            ),
            "p.yaml": together(machine_pool("p"), machine_pool("q")),
        },
        policy=DECLARED,
    ),
    # networks
    Case(
        "addresses outside, reserved and right",
        {
            "n.yaml": together(
                network("lan", cidr="10.1.0.0/24"),
                interface("a", ips=("10.1.1.5",), networkRef=ref("lan")),
                interface("b", ips=("10.1.0.0",), networkRef=ref("lan")),
                interface("c", ips=("10.1.0.255", "fd00::1"), networkRef=ref("lan")),
                interface("d", ips=("10.1.0.254", "10.1.0.2"), networkRef=ref("lan")),
            ),
            "m.yaml": machine(
                networkInterfaces=[ephemeral_interface(ips=("10.2.0.1",), networkRef=ref("lan"))]
            ),
        },
        {
            "GV340 error n.yaml /spec/ips/0/value",
            "GV340 error m.yaml /spec/networkInterfaces/0/ephemeral/networkInterfaceTemplate/spec/ips/0/value",
            "GV342 error n.yaml /spec/ips/0/value",
        },
        quote="choose one from 10.1.0.1 to 10.1.0.254",
    ),
    Case(
        "addresses of the gateway and of a DNS server",
        {
            "n.yaml": together(
                network("lan", cidr="10.1.0.0/24", gateway="10.1.0.254", dns=["10.1.0.53", "fd00:0::53"]),
                interface("a", ips=("10.1.0.254", "fd00::53"), networkRef=ref("lan")),
                interface("b", ips=("10.1.0.53",), networkRef=ref("lan")),
                interface("c", ips=("10.1.0.2",), networkRef=ref("lan")),
            ),
        },
        {
            "GV354 warning n.yaml /spec/ips/0/value",
            "GV354 warning n.yaml /spec/ips/1/value",
        },
        quote="10.1.0.254 is the gateway of Network/default/lan, which other guests are told to use",
    ),
    Case(
        "the host's address in a network of ours",
        {
            "n.yaml": together(
                network("own", cidr="10.1.0.0/24"),
                interface("a", ips=("10.1.0.1",), networkRef=ref("own")),
                interface("b", ips=("10.1.0.2",), networkRef=ref("own")),
            ),
        },
        {"GV342 error n.yaml /spec/ips/0/value"},
        quote="10.1.0.1 is the address of the host in this network choose one from 10.1.0.2 to 10.1.0.254",
    ),
    Case(
        "address twice in one network",
        {
            "n.yaml": together(
                network("other"),
                interface("a", ips=("10.1.0.5", "fd00::1")),
                interface("b", ips=("10.1.0.5",)),
                interface("c", ips=("10.1.0.5",), networkRef=ref("other")),
                interface("d", ips=("fd00:0::1",)),
            ),
        },
        {"GV341 error n.yaml /spec/ips/0/value"},
        quote="10.1.0.5 in network net already belongs to NetworkInterface/default/a in n.yaml",
    ),
    Case(
        "MAC addresses",
        {
            "n.yaml": together(
                interface("a", macAddress="02:00:00:00:00:aa"),
                interface("b", macAddress="02:00:00:00:00:AA"),
            ),
            "bad.yaml": together(
                interface("c", macAddress="01:00:5e:00:00:01"), interface("d", macAddress="00:00:00:00:00:00")
            ),
            "m.yaml": machine(
                networkInterfaces=[
                    ephemeral_interface("x", macAddress="02:00:00:00:00:01"),
                    ephemeral_interface("y", macAddress="02:00:00:00:00:01"),
                ]
            ),
        },
        {
            "GV343 error n.yaml /spec/macAddress",
            "GV343 error m.yaml /spec/networkInterfaces/1/ephemeral/networkInterfaceTemplate/spec/macAddress",
            "GV344 error bad.yaml /spec/macAddress",
        },
        quote="this object",
    ),
    Case(
        "overlapping networks",
        {
            "n.yaml": together(
                network("a", cidr="10.0.0.0/8"),
                network("b", cidr="10.1.0.0/16"),
                network("c", cidr="10.200.0.0/16"),
                network("d", cidr="11.0.0.0/8"),
                network("e", cidr="11.0.0.0/8", providerID="bridge:br0"),
            )
        },
        {"GV346 warning n.yaml /spec/ipv4/cidr"},
        quote="10.200.0.0/16 overlaps 10.0.0.0/8 of Network/default/a",
    ),
    Case(
        "gateways that guests cannot reach",
        {
            "n.yaml": together(
                network("a", cidr="10.1.0.0/24", gateway="10.2.0.1"),
                network("b", cidr="10.3.0.0/24", gateway="10.3.0.0"),
                network("c", cidr="10.4.0.0/24", gateway="10.4.0.1", dns=["9.9.9.9"]),
                network("d", cidr="10.5.0.0/24", gateway="fd00::1"),
                network("e", gateway="10.1.0.1"),
            ),
            "last.yaml": network("f", cidr="10.6.0.0/24", gateway="10.6.0.255"),
        },
        {"GV347 error n.yaml /spec/gateway", "GV347 error last.yaml /spec/gateway"},
        quote="gateway 10.2.0.1 is not in the network's range 10.1.0.0/24, so guests cannot reach it",
    ),
    Case(
        "a VLAN without a bridge",
        {
            "n.yaml": together(network("a", vlan=7), network("b", vlan=7, providerID="bridge:br0")),
            "o.yaml": together(
                network("c", vlan=7, providerID="libvirt:default"), network("d", vlan=7, providerID="x")
            ),
        },
        {"GV348 error n.yaml /spec/vlan", "GV348 error o.yaml /spec/vlan"},
        quote="vlan has no effect on an isolated network",
    ),
    Case(
        "an attribute that is a field of the network",
        {
            "n.yaml": network("up", providerID="bridge:br0", vlan=7, dns=["10.0.0.1"]),
            "i.yaml": interface(
                "a", networkRef=ref("up"), attributes={"vlan": "7", "gateway": "10.0.0.1", "mtu": "9000"}
            ),
            "m.yaml": machine(
                networkInterfaces=[
                    ephemeral_interface("x", networkRef=ref("up"), attributes={"dns": "10.0.0.2"})
                ]
            ),
        },
        {
            "GV349 error i.yaml /spec/attributes/vlan",
            "GV349 error m.yaml /spec/networkInterfaces/0/ephemeral/networkInterfaceTemplate/spec/attributes/dns",
        },
        quote="attribute vlan is given twice: Network/default/up in n.yaml has vlan as a field",
    ),
    Case(
        "an address that no guest is given",
        {
            "n.yaml": together(
                network("up", providerID="bridge:br0"),
                network("own"),
                network("known", providerID="bridge:br0", cidr="10.2.0.0/24"),
            ),
            "i.yaml": together(
                interface("a", ips=("10.0.0.5", "fd00::5"), networkRef=ref("up")),
                interface("b", ips=("10.0.0.5",), networkRef=ref("own")),
                interface("c", ips=("10.2.0.5",), networkRef=ref("known")),
            ),
        },
        {"GV350 notice i.yaml /spec/ips/0/value"},
        quote="Network/default/up has no ipv4.cidr, so its prefix length is unknown",
    ),
    # storage
    Case(
        "restored into less",
        {
            "v.yaml": together(
                volume(size="10Gi"),
                snapshot(),
                volume("less", size="9Gi", dataSource={"volumeSnapshotRef": ref("snap")}),
                volume("same", size="10240Mi", dataSource={"volumeSnapshotRef": ref("snap")}),
            )
        },
        {"GV351 error v.yaml /spec/resources/storage"},
        quote="request at least 10Gi",
    ),
]
