"""What Ann writes."""

MACHINE = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {{name: {name}}}
spec:
  machineClassRef: {{name: {kind}}}
  power: "{power}"
"""
LOCAL = """  volumes:
    - name: scratch
      localDisk: {sizeLimit: 4Mi}
"""
DATA = """  volumes:
    - name: data
      device: odb
      volumeRef: {name: db-data}
"""
VOLUME = """apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {{name: db-data}}
spec:
  volumeClassRef: {{name: disk}}
  deletionPolicy: Delete
  resources: {{storage: {size}}}
"""


def machine(name: str, disks: str = "", power: str = "On", kind: str = "micro") -> str:
    return MACHINE.format(name=name, power=power, kind=kind) + disks


def volume(size: str) -> str:
    return VOLUME.format(size=size)
