"""GV3xx: rules between objects."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV301": Code(
        "Same object twice",
        "Two documents have the same kind, namespace and name. Identity never depends on the path.",
        "Remove one of them, or give it another name or namespace.",
    ),
    "GV302": Code(
        "Name of a generated object is taken",
        "A machine's ephemeral volume or interface becomes an object named <machine>-<entry>, and that name is in use.",
        "Rename the entry or the other object.",
    ),
    "GV303": Code(
        "Name of a generated object is too long",
        "The name <machine>-<entry> has more than 63 characters.",
        "Shorten the name of the machine or of the entry.",
    ),
    "GV310": Code(
        "Reference to an object that does not exist",
        "No document of this repo has the kind, namespace and name that is referred to.",
        "Correct the name, or add the object. References never leave their namespace.",
    ),
    "GV311": Code(
        "Secret without the key that is needed",
        "The Secret exists, but has no entry of that name.",
        "Add the entry (ignition.yaml, encryptionKey, or what ignitionRef.key says), or correct the key.",
    ),
    "GV312": Code(
        "Pinned to a pool that is not declared",
        "The pool that people chose stands in no file. With `pools: open` a poollet may still announce it.",
        "Correct the name, or declare the pool.",
    ),
    "GV313": Code(
        "Pinned to a pool that does not offer the class",
        "The declared pool lists the classes it offers, and this one is not among them.",
        "Choose another pool or class, or leave the choice of pool to the reconciler.",
    ),
    "GV314": Code(
        "Pin contradicts the selector",
        "The pool that people chose does not carry the labels that the pool selector asks for.",
        "Remove the pin or the selector, or label the pool.",
    ),
    "GV315": Code(
        "Pinned to a pool that turns it away",
        "The pool has a taint that is not tolerated.",
        "Add a toleration, remove the taint, or choose another pool.",
    ),
    "GV316": Code(
        "No declared pool matches the selector",
        "No pool of this repo carries all the labels that the selector asks for.",
        "Correct the labels of the selector or of the pools.",
    ),
    "GV317": Code(
        "Volume out of reach of its machine",
        "Machine and volume are pinned to pools, and the volume pool does not serve the machine pool.",
        "Remove one of the pins, or extend the volume pool's machinePoolSelector.",
    ),
    "GV320": Code(
        "Volume used more than once",
        "A volume belongs to one machine at a time, and to one entry of it.",
        "Give each machine a volume of its own.",
    ),
    "GV321": Code(
        "Network interface used more than once",
        "A network interface belongs to one machine, and to one entry of it.",
        "Give each machine an interface of its own, or use an ephemeral one.",
    ),
    "GV322": Code(
        "Volume is not to be claimed",
        "A machine uses a volume that is marked unclaimable.",
        "Remove `unclaimable`, or use another volume.",
    ),
    "GV330": Code(
        "EFI variable twice",
        "Two EFI variables of the machine have the same name and uuid.",
        "Remove one of them.",
    ),
    "GV332": Code(
        "Toleration that cannot mean anything",
        "Exists takes no value, Equal needs a key, tolerationSeconds only concerns NoExecute.",
        "Remove the part that does not belong.",
    ),
    "GV333": Code(
        "Taint twice",
        "A pool has two taints with the same key and effect.",
        "Remove one of them.",
    ),
    "GV334": Code(
        "Rule of placement does not concern its own machine",
        "The labelSelector of spread or antiAffinity does not match the machine's own labels.",
        "Label the machine, or correct the selector.",
    ),
    "GV335": Code(
        "No pool has the topology key",
        "No declared pool carries the label that spread or antiAffinity counts by.",
        "Label the pools, or correct topologyKey.",
    ),
    "GV336": Code(
        "More machines than places apart",
        "Required antiAffinity asks for more different values of the topology key than the declared pools have.",
        "Add pools, or set required: false.",
    ),
    "GV340": Code(
        "Address outside its network",
        "An address of the interface is not in the network's ipv4.cidr.",
        "Choose an address within it.",
    ),
    "GV341": Code(
        "Address twice in one network",
        "Two interfaces of one network ask for the same address.",
        "Choose another address for one of them.",
    ),
    "GV342": Code(
        "Address is reserved",
        "The first address of a range names the network and the last one all of its hosts; neither is for an interface.",
        "Choose another address.",
    ),
    "GV343": Code(
        "MAC address twice",
        "Two network interfaces have the same macAddress.",
        "Choose another, or leave it out: then it is derived from the interface's identity.",
    ),
    "GV344": Code(
        "MAC address that no interface can have",
        "The address is a multicast one (its first byte is odd) or all zeros.",
        "Use a locally administered unicast address, such as 02:..., or leave it out.",
    ),
    "GV346": Code(
        "Networks overlap",
        "Two networks that are made on demand have overlapping address ranges. One host cannot have both.",
        "Choose ranges that do not overlap, unless they never meet on a host.",
    ),
    "GV351": Code(
        "Volume smaller than its snapshot",
        "The volume is restored from a snapshot of a larger volume.",
        "Ask for at least the size of the volume the snapshot was taken of.",
    ),
    "GV360": Code(
        "File in a folder of gitvirt's own",
        "The folder .gitvirt/ belongs to the reconciler; people only write .gitvirt/orphans/.",
        "Move the file elsewhere.",
    ),
    "GV361": Code(
        "File that looks like a manifest is not read",
        "Only names that end in .yaml, .yml or .json are read.",
        "Rename the file, or name it in .gitvirtignore.",
    ),
    "GV362": Code(
        "Status is not people's to write",
        "The document has a status. On the source branch it is ignored; on the target branch the reconciler writes it.",
        "Remove it, or leave it: it does no harm.",
    ),
    "GV363": Code(
        "Field that only gitvirt writes",
        "Identity, deletion and claims are recorded by the reconciler on the target branch; in the source they are ignored.",
        "Remove the field.",
    ),
}
