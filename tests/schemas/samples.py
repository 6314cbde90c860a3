"""Manifests in the shapes that IronCore and OpenKCM publish, by name. They must be accepted as they are."""

from __future__ import annotations

from ruamel.yaml import YAML

SAMPLES = {
    "openkcm-machine-pool": """
apiVersion: compute.OpenKCM.dev/v1alpha1
kind: MachinePool
metadata:
  name: rack-a
spec:
  providerID: OpenKCM://shared
status:
  availableMachineClasses:
  - name: t3-small
""",
    "openkcm-machine-class": """
apiVersion: compute.OpenKCM.dev/v1alpha1
kind: MachineClass
metadata:
  name: t3-small
capabilities:
  cpu: 4
  memory: 16Gi
""",
    "machine-class-with-gpu": """
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachineClass
metadata:
  name: x3.xlarge
  labels:
    common.ironcore.dev/architecture: amd64
  finalizers: [compute.ironcore.dev/machineclass]
capabilities:
  cpu: "4"
  memory: 8Gi
  nvidia.com/gpu: "1"
""",
    "machine-pool-maintenance": """
apiVersion: compute.ironcore.dev/v1alpha1
kind: MachinePool
metadata:
  name: rack-b
  generation: 3
  labels:
    topology.ironcore.dev/region: eu
    topology.ironcore.dev/zone: eu-1
spec:
  providerID: ironcore://shared
  taints:
  - key: maintenance
    value: "true"
    effect: NoExecute
status:
  state: Ready
  conditions:
  - {type: Ready, status: "True", reason: Answers, message: fine, observedGeneration: 3,
     lastUpdateTime: "2026-01-02T03:04:05Z", lastTransitionTime: "2026-01-02T03:04:05Z"}
  availableMachineClasses: [{name: x3.xlarge}]
  addresses: [{type: InternalIP, address: 10.1.2.3}, {type: Hostname, address: rack-b}]
  daemonEndpoints: {machinepoolletEndpoint: {port: 20250}}
  capacity: {cpu: 64, memory: 256Gi, class/machine.x3.xlarge: 16}
  allocatable: {class/machine.x3.xlarge: "12"}
""",
    "machine-with-existing-resources": """
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: shop
spec:
  machineClassRef:
    name: x3.xlarge
  image: some-image
  volumes:
  - name: rootdisk
    volumeRef:
      name: shop-root
  networkInterfaces:
  - name: primary
    networkInterfaceRef:
      name: shop-primary
  ignitionRef:
    name: shop-ignition
""",
    "machine-with-ephemeral-resources": """
apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata:
  name: shop
  creationTimestamp: null
spec:
  machineClassRef:
    name: x3.xlarge
  machinePoolSelector:
    topology.ironcore.dev/zone: eu-1
  power: "On"
  ignitionRef:
    name: shop-ignition
    key: ignition.yaml
  guestConfig:
    hostname: shop
  tolerations:
  - {key: maintenance, operator: Exists, effect: NoExecute}
  efiVars:
  - {name: PK, uuid: 8be4df61-93ca-11d2-aa0d-00e098032b8c, value: abc}
  networkInterfaces:
  - name: primary
    ephemeral:
      networkInterfaceTemplate:
        metadata: {creationTimestamp: null}
        spec:
          ipFamilies:
          - IPv4
          ips:
          - value: 10.0.0.12
          networkRef:
            name: shop-net
          virtualIP:
            ephemeral:
              virtualIPTemplate:
                spec:
                  type: Public
                  ipFamily: IPv4
  volumes:
  - name: root
    device: oda
    ephemeral:
      volumeTemplate:
        metadata:
          labels: {part-of: shop}
        spec:
          volumeClassRef:
            name: fast
          dataSource:
            osImage:
              image: ghcr.io/example/debian:13
          resources:
            storage: 10Gi
  - name: old-style
    ephemeral:
      volumeTemplate:
        spec:
          volumeClassRef: {name: fast}
          image: debian:13
          resources: {storage: 10Gi}
  - name: scratch
    localDisk:
      sizeLimit: 1Gi
  - name: older-scratch
    emptyDisk: {}
status:
  machineID: libvirt://0d5c
  observedGeneration: 0
  state: Running
  networkInterfaces:
  - {name: primary, handle: eth0, state: Attached, networkInterfaceRef: {name: shop-primary}}
  volumes:
  - {name: root, handle: vda, state: Attached, volumeRef: {name: shop-root}, lastStateTransitionTime: "2026-01-02T03:04:05Z"}
""",
    "volume-class": """
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata:
  name: fast
capabilities:
  tps: 100Mi
  iops: 100
resizePolicy: ExpandOnly
""",
    "volume-pool": """
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumePool
metadata:
  name: ceph
spec:
  providerID: ironcore://shared
status:
  state: Available
  availableVolumeClasses: [{name: fast}]
  capacity: {class/volume.fast: 10Ti}
  allocatable: {class/volume.fast: 9Ti}
""",
    "volume": """
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata:
  name: shop-root
  namespace: shop
  uid: 2f1c3a54-8d8c-4a44-9a35-3f0f9b1c5a77
  resourceVersion: "4711"
  ownerReferences:
  - {apiVersion: compute.ironcore.dev/v1alpha1, kind: Machine, name: shop, uid: 1f1c, controller: true, blockOwnerDeletion: true}
  managedFields:
  - {manager: kubectl, operation: Apply, apiVersion: storage.ironcore.dev/v1alpha1, fieldsV1: {"f:spec": {}}}
spec:
  volumeClassRef:
    name: fast
  volumePoolRef:
    name: ceph
  resources:
    storage: 100Gi
  encryption:
    secretRef: {name: shop-key}
  claimRef: {name: shop, uid: 1f1c}
status:
  volumeID: ceph://1
  state: Available
  access: {driver: ceph, handle: "1", secretRef: {name: access}, volumeAttributes: {monitors: "10.0.0.1", image: a/b}}
  resources: {storage: 100Gi}
""",
    "volume-provided-from-outside": """
apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {name: by-hand}
spec: {unclaimable: true}
""",
    "volume-snapshot": """
apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeSnapshot
metadata:
  name: before-upgrade
spec:
  volumeRef:
    name: shop-root
status: {snapshotID: ceph://2, state: Ready, size: 12Gi}
""",
    "network-with-peering": """
apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata:
  name: shop-net
spec:
  peerings:
  - name: to-office
    networkRef:
      name: office
  incomingPeerings: [{namespace: office, name: office, uid: 3f1c}]
status: {state: Available, peerings: [{name: to-office, state: Ready}]}
""",
    "network-on-a-vlan": """
apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata: {name: uplink}
spec: {providerID: "bridge:br0", vlan: 120, ipv4: {cidr: 10.20.0.0/24}, gateway: 10.20.0.1, dns: [10.20.0.53, "fd00::53"]}
""",
    "network-bare": """
apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata: {name: island}
""",
    "network-interface": """
apiVersion: networking.ironcore.dev/v1alpha1
kind: NetworkInterface
metadata:
  name: shop-primary
spec:
  networkRef:
    name: shop-net
  ipFamilies:
    - IPv4
  ips:
    - value: 10.0.0.1 # inside
  virtualIP:
    virtualIPRef:
      name: shop-public
status:
  ips: [10.0.0.1]
  lastStateTransitionTime: "2026-01-13T11:39:17Z"
  state: Available
  virtualIP: 172.89.244.23
""",
    "secret-ignition": """
apiVersion: v1
data:
  ignition.yaml: eyJpZ25pdGlvbiI6eyJ2ZXJzaW9uIjoiMy4zLjAifX0K
kind: Secret
metadata:
  creationTimestamp: null
  name: shop-ignition
type: compute.ironcore.dev/ignition
""",
    "secret-sops": """
apiVersion: v1
kind: Secret
metadata: {name: shop-key}
stringData:
  encryptionKey: ENC[AES256_GCM,data:Zm9v,iv:YmFy,tag:YmF6,type:str]
data:
  other: ENC[AES256_GCM,data:Zm9v,iv:YmFy,tag:YmF6,type:str]
sops:
  lastmodified: "2026-01-13T11:39:17Z"
  mac: ENC[AES256_GCM,data:Zm9v,iv:YmFy,tag:YmF6,type:str]
  encrypted_regex: ^(data|stringData)$
  age: [{recipient: age1abc, enc: text}]
""",
    "resource-quota": """
apiVersion: core.ironcore.dev/v1alpha1
kind: ResourceQuota
metadata:
  name: shop
spec:
  hard:
    requests.cpu: "10"
    requests.memory: 100Gi
    requests.storage: 10Ti
    count/machines.compute.ironcore.dev: 10
  scopeSelector:
    matchExpressions:
    - {scopeName: MachineClass, operator: In, values: [large]}
""",
}


def load(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)
