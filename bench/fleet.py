"""Generated repos for benchmarks: a fleet of machines, volumes and interfaces that refer to each other, all valid."""

from __future__ import annotations

from pathlib import Path

CLASSES = 8
POOLS = 40
FILES_A_FOLDER = 100

MACHINE = """\
# yaml-language-server: $schema=../.schemas/machine.json
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: web-{number}
  namespace: team-{team}
  labels:
    app: web
    tier: "{tier}"
spec:
  machineClassRef:
    name: class-{size}
  machinePoolSelector:
    topology.ironcore.dev/zone: zone-{zone}
  power: On
  volumes:
    - name: root
      device: oda
      localDisk:
        sizeLimit: 20Gi
        image: registry.example.org/images/debian:12
    - name: data
      volumeRef:
        name: data-{number}
  networkInterfaces:
    - name: lan
      networkInterfaceRef:
        name: nic-{number}
"""
VOLUME = """\
# yaml-language-server: $schema=../.schemas/volume.json
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata:
  name: data-{number}
  namespace: team-{team}
  labels:
    app: web
    tier: "{tier}"
  annotations:
    example.org/owner: the team that operates it and answers questions at any time of the day
spec:
  volumeClassRef:
    name: fast
  volumePoolSelector:
    topology.ironcore.dev/zone: zone-{zone}
  resources:
    storage: {gibibytes}Gi
  deletionPolicy: Retain
"""
INTERFACE = """\
# yaml-language-server: $schema=../.schemas/network-interface.json
apiVersion: networking.ironcore.dev/v1alpha1
kind: NetworkInterface
metadata:
  name: nic-{number}
  namespace: team-{team}
  labels:
    app: web
    tier: "{tier}"
  annotations:
    example.org/owner: the team that operates it and answers questions at any time of the day
spec:
  networkRef:
    name: lan
  ipFamilies: [IPv4]
  ips:
    - value: 10.{second}.{third}.{fourth}
"""
KINDS = (
    ("volume", VOLUME),
    ("interface", INTERFACE),
    ("machine", MACHINE),
)  # nothing refers to what comes later


def base(teams: int) -> dict[str, str]:
    classes = [
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\n"
        f"metadata: {{name: class-{size}}}\ncapabilities: {{cpu: {size + 1}, memory: {4 * (size + 1)}Gi}}\n"
        for size in range(CLASSES)
    ]
    classes.append(
        "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeClass\n"
        "metadata: {name: fast}\ncapabilities: {tps: 100Mi, iops: 1000}\n"
    )
    pools = [
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\n"
        f"metadata: {{name: pool-{number}, labels: {{topology.ironcore.dev/zone: zone-{number % 4}}}}}\n"
        for number in range(POOLS)
    ]
    networks = [
        "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\n"
        f"metadata: {{name: lan, namespace: team-{team}}}\n"
        "spec: {providerID: 'bridge:br0', ipv4: {cidr: 10.0.0.0/8}}\n"
        for team in range(teams)
    ]
    quotas = [
        "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\n"
        f"metadata: {{name: quota, namespace: team-{team}}}\n"
        "spec: {hard: {requests.cpu: 1000000, requests.storage: 1000Ti}}\n"
        for team in range(teams)
    ]
    return {
        "gitvirt.yaml": "fleet:\n  id: 7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00\n",
        "base/classes.yaml": "---\n".join(classes),
        "base/pools.yaml": "---\n".join(pools),
        "base/networks.yaml": "---\n".join(networks),
        "base/quotas.yaml": "---\n".join(quotas),
    }


def files(objects: int) -> dict[str, str]:
    """`objects` manifests, one a file, 100 files a folder, and the few that they refer to."""
    teams = max(1, objects // 1000)
    found = base(teams)
    for position in range(objects):
        number, kind = divmod(position, len(KINDS))
        noun, template = KINDS[kind]
        text = template.format(
            number=number,
            team=number % teams,
            tier=number % 3,
            size=number % CLASSES,
            zone=number % 4,
            gibibytes=1 + number % 50,
            second=1 + number // 62500,
            third=number // 250 % 250,
            fourth=1 + number % 250,
        )
        found[f"fleet/{position // FILES_A_FOLDER:04}/{noun}-{number}.yaml"] = text
    return found


def write(root: Path, objects: int) -> int:
    """Writes them below `root`; the number of all objects."""
    made: set[Path] = set()
    documents = 0
    for path, text in files(objects).items():
        target = root / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        target.write_text(text)
        documents += text.count("\nkind:") if path != "gitvirt.yaml" else 0
    return documents
