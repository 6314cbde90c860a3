"""GV4xx: against an earlier revision."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV401": Code(
        "Machine is resized",
        "machineClassRef differs from the earlier revision.",
        "Nothing, if intended. The new size applies to the running machine where the runtime can do that, otherwise at the next boot.",
    ),
    "GV402": Code(
        "Class changed while in use",
        "The capabilities of a class cannot change while objects use it.",
        "Declare a new class and move the objects to it.",
    ),
    "GV403": Code(
        "providerID changed",
        "providerID identifies the object outside of this repo and cannot be changed after creation.",
        "Restore the value, or declare a new object.",
    ),
    "GV404": Code(
        "Class of a volume changed",
        "The class of a volume cannot change after creation.",
        "Restore volumeClassRef, or declare a new volume and copy the data.",
    ),
    "GV405": Code(
        "Volume shrinks",
        "A smaller volume would cut off data.",
        "Restore the size, or declare a new volume and copy the data.",
    ),
    "GV406": Code(
        "Volume of a static class grows",
        "Only classes with resizePolicy: ExpandOnly let volumes grow.",
        "Restore the size, or set resizePolicy: ExpandOnly on the class if its pools can do it.",
    ),
    "GV407": Code(
        "Encryption of a volume changed",
        "The encryption of a volume cannot change after creation.",
        "Restore encryption, or declare a new volume and copy the data.",
    ),
    "GV408": Code(
        "Disk with an image changed",
        "A localDisk with an image holds the operating system of the machine. Its image cannot change, and it cannot be removed.",
        "Restore the disk, or delete and recreate the machine.",
    ),
    "GV409": Code(
        "Host name changed",
        "The guest reads guestConfig.hostname once, at its first boot.",
        "Restore the value and change the name inside the guest, or recreate the machine.",
    ),
    "GV410": Code(
        "Snapshot of another volume",
        "The volume of a snapshot cannot change after creation.",
        "Restore volumeRef, or declare a new snapshot.",
    ),
    "GV411": Code(
        "Network of an interface changed",
        "The network of an interface cannot change after creation.",
        "Restore networkRef, or declare a new interface.",
    ),
    "GV412": Code(
        "Pinned to another pool",
        "A machine is stopped on its pool and placed on the other one as soon as that pool has room. A volume does not move: its data stays on its pool.",
        "Restore the pin, unless you want to move the machine. To move a volume, copy its data to a new one.",
    ),
    "GV413": Code(
        "Removed while in use",
        "Other objects still refer to the removed object.",
        "Restore the object, or first remove the references to it.",
    ),
    "GV414": Code(
        "Source of a volume's data changed",
        "gitvirt fills a volume once, at its creation. A later change of dataSource has no effect.",
        "Restore dataSource, or declare a new volume.",
    ),
    "GV415": Code(
        "Range of a network changed while in use",
        "Interfaces keep their addresses until their machines restart.",
        "Restart the machines of the network, or declare a new network.",
    ),
    "GV420": Code(
        "Earlier revision cannot be compared",
        "A file of the earlier revision cannot be parsed, so its objects are unknown.",
        "Nothing, if this change fixes the file.",
    ),
}
