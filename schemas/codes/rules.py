"""GV3xx: rules between objects."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV301": Code(
        "Duplicate object",
        "Two documents have the same kind, namespace and name. The path of a file is not part of the identity.",
        "Remove one of them, or give it another name or namespace.",
    ),
    "GV302": Code(
        "Name of a generated object is taken",
        "A machine's ephemeral volume or interface becomes an object named <machine>-<entry>, and another object has that name.",
        "Rename the entry or the other object.",
    ),
    "GV303": Code(
        "Name of a generated object is too long",
        "The name <machine>-<entry> has more than 63 characters.",
        "Shorten the name of the machine or of the entry.",
    ),
    "GV310": Code(
        "Reference to an object that does not exist",
        "The reference names an object that no document of this repo declares.",
        "Correct the name, or add the object. A reference cannot name an object of another namespace.",
    ),
    "GV311": Code(
        "Secret without the required key",
        "The Secret exists, but has no entry of that name.",
        "Add the entry (ignition.yaml, encryptionKey, or what ignitionRef.key says), or correct the key.",
    ),
    "GV312": Code(
        "Pinned to a pool that is not declared",
        "The pinned pool is not declared in any file. With `pools: open` a poollet may still announce it.",
        "Correct the name, or declare the pool.",
    ),
    "GV313": Code(
        "Pinned pool does not offer the class",
        "The declared pool lists the classes that it offers, and this class is not in the list.",
        "Choose another pool or class, or leave the choice of pool to the reconciler.",
    ),
    "GV314": Code(
        "Pin contradicts the selector",
        "The pinned pool does not have the labels that the pool selector requires.",
        "Remove the pin or the selector, or label the pool.",
    ),
    "GV315": Code(
        "Pinned pool has a taint that is not tolerated",
        "The object does not tolerate a taint of the pool.",
        "Add a toleration, remove the taint, or choose another pool.",
    ),
    "GV316": Code(
        "No declared pool matches the selector",
        "No pool of this repo has all the labels that the selector requires.",
        "Correct the labels of the selector or of the pools.",
    ),
    "GV317": Code(
        "Volume out of reach of its machine",
        "Machine and volume are pinned to pools, and the volume pool does not serve the machine pool.",
        "Remove one of the pins, or extend the volume pool's machinePoolSelector.",
    ),
    "GV320": Code(
        "Volume used more than once",
        "A volume can belong to only one machine at a time, and to only one entry of it.",
        "Give each machine its own volume.",
    ),
    "GV321": Code(
        "Network interface used more than once",
        "A network interface can belong to only one machine, and to only one entry of it.",
        "Give each machine its own interface, or use an ephemeral one.",
    ),
    "GV322": Code(
        "Volume is unclaimable",
        "A machine uses a volume that is marked unclaimable.",
        "Remove `unclaimable`, or use another volume.",
    ),
    "GV330": Code(
        "Duplicate EFI variable",
        "Two EFI variables of the machine have the same name and uuid.",
        "Remove one of them.",
    ),
    "GV332": Code(
        "Toleration without effect",
        "Exists takes no value, Equal needs a key, and tolerationSeconds applies only to NoExecute.",
        "Remove the field that the message names.",
    ),
    "GV333": Code(
        "Duplicate taint",
        "A pool has two taints with the same key and effect.",
        "Remove one of them.",
    ),
    "GV334": Code(
        "Placement rule does not match its own machine",
        "The labelSelector of spread or antiAffinity does not match the machine's own labels.",
        "Label the machine, or correct the selector.",
    ),
    "GV335": Code(
        "No pool has the topology key",
        "No declared pool has the label that topologyKey of spread or antiAffinity names.",
        "Label the pools, or correct topologyKey.",
    ),
    "GV336": Code(
        "Too few pools for antiAffinity",
        "Required antiAffinity needs more different values of the topology key than the declared pools have.",
        "Add pools, or set required: false.",
    ),
    "GV340": Code(
        "Address outside its network",
        "An address of the interface is not in the network's ipv4.cidr.",
        "Choose an address within it.",
    ),
    "GV341": Code(
        "Duplicate address in one network",
        "Two interfaces of one network request the same address.",
        "Choose another address for one of them.",
    ),
    "GV342": Code(
        "Address is reserved",
        "The first address of a range names the network, and the last one is its broadcast address. No interface can use them.",
        "Choose another address.",
    ),
    "GV343": Code(
        "Duplicate MAC address",
        "Two network interfaces have the same macAddress.",
        "Choose another address, or leave macAddress out: gitvirt then derives it from the interface's identity.",
    ),
    "GV344": Code(
        "Invalid MAC address",
        "The address is a multicast one (its first byte is odd) or all zeros.",
        "Use a locally administered unicast address, such as 02:..., or leave macAddress out.",
    ),
    "GV346": Code(
        "Networks overlap",
        "Two networks that gitvirt creates have overlapping address ranges. One host cannot have both.",
        "Choose ranges that do not overlap, unless no host ever has both networks.",
    ),
    "GV351": Code(
        "Volume smaller than its snapshot",
        "The snapshot is of a larger volume.",
        "Request at least the size of the volume of the snapshot.",
    ),
    "GV360": Code(
        "File in the reconciler's folder",
        "Only the reconciler writes the folder .gitvirt/, except for .gitvirt/orphans/.",
        "Move the file to another folder.",
    ),
    "GV361": Code(
        "File that looks like a manifest is not read",
        "gitvirt reads only files whose names end in .yaml, .yml or .json.",
        "Rename the file, or name it in .gitvirtignore.",
    ),
    "GV362": Code(
        "Status in the source",
        "The document has a status. gitvirt ignores it on the source branch; the reconciler writes status on the target branch.",
        "Remove status, or leave it: it has no effect.",
    ),
    "GV363": Code(
        "Field that only gitvirt writes",
        "The reconciler records identity, deletion and claims on the target branch. In the source they are ignored.",
        "Remove the field.",
    ),
}
