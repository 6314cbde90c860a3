"""GV4xx: against an earlier revision."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV401": Code(
        "Machine is resized",
        "machineClassRef differs from the earlier revision.",
        "Nothing, if it is meant. The new size applies live where the runtime can, else at the next boot.",
    ),
    "GV402": Code(
        "Class changed while in use",
        "Capabilities of a class never change under those that use it.",
        "Make a new class and move its users to it.",
    ),
    "GV403": Code(
        "providerID changed",
        "providerID is set once: it says what the object is outside of this repo.",
        "Restore it, or make a new object.",
    ),
    "GV404": Code(
        "Class of a volume changed",
        "A volume stays what it was made as.",
        "Restore volumeClassRef, or make a new volume and copy the data.",
    ),
    "GV405": Code(
        "Volume shrinks",
        "A smaller volume would cut off data.",
        "Restore the size, or make a new volume and copy the data.",
    ),
    "GV406": Code(
        "Volume of a static class grows",
        "Only classes with resizePolicy: ExpandOnly let volumes grow.",
        "Restore the size, or set resizePolicy: ExpandOnly on the class if its pools can do it.",
    ),
    "GV407": Code(
        "Encryption of a volume changed",
        "Encryption is decided when a volume is made.",
        "Restore encryption, or make a new volume and copy the data.",
    ),
    "GV408": Code(
        "Disk with an image changed",
        "A localDisk that was made from an image holds the machine's system: it is neither removed nor made anew.",
        "Restore it, or declare a new machine.",
    ),
    "GV409": Code(
        "Host name changed",
        "guestConfig.hostname is given to a guest once, when it is made.",
        "Restore it and change the name within the guest, or declare a new machine.",
    ),
    "GV410": Code(
        "Snapshot of another volume",
        "A snapshot stays that of the volume it was taken of.",
        "Restore volumeRef, or declare a new snapshot.",
    ),
    "GV411": Code(
        "Network of an interface changed",
        "A network interface stays in its network.",
        "Restore networkRef, or declare a new interface.",
    ),
    "GV412": Code(
        "Pinned to another pool",
        "A machine is stopped on its pool and placed on the other, once that can take it. A volume stays where its data is.",
        "Restore the pin, unless the machine is to move. Of a volume, copy the data to a new one.",
    ),
    "GV413": Code(
        "Removed while in use",
        "Other objects still refer to what is removed.",
        "Restore it, or remove what refers to it first.",
    ),
    "GV414": Code(
        "Source of a volume's data changed",
        "A volume is filled once, when it is made; changing dataSource afterwards has no effect.",
        "Restore it, or make a new volume.",
    ),
    "GV415": Code(
        "Range of a network changed while in use",
        "Interfaces keep the addresses they have until their machines boot anew.",
        "Restart the machines of the network, or make a new network.",
    ),
    "GV420": Code(
        "Earlier revision cannot be compared",
        "A file of the earlier revision does not parse, so what its objects were is unknown.",
        "Nothing, if this change mends it.",
    ),
}
