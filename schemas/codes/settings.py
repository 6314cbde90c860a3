"""GV6xx: gitvirt.yaml, poollet.yaml and reports."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV601": Code(
        "Settings cannot be read",
        "gitvirt.yaml or poollet.yaml is empty, holds several documents, is no UTF-8, is far too large, or gitvirt.yaml is gone.",
        "It is one YAML document in UTF-8; `gitvirt init` writes one to start from. One that is gone comes back with the same fleet.id.",
    ),
    "GV602": Code(
        "Source and target are one branch",
        "branches.source and branches.target name the same branch, so people and the reconciler would overwrite each other.",
        "Name two branches. main and live are the defaults.",
    ),
    "GV603": Code(
        "Signatures are enforced and nobody may sign",
        "signatures.mode is enforce and signatures.signers is empty: nothing could ever be accepted.",
        "List the public keys, or start with the mode warn.",
    ),
    "GV604": Code(
        "A pool with two owners",
        "Two entries of poollets name the same pool or pattern.",
        "A pool belongs to one poollet: take it out of one of them.",
    ),
    "GV611": Code(
        "A password in a URL",
        "repo.url of poollet.yaml holds a password, which then shows in process lists and logs.",
        "Put it in a file that only the poollet can read, and name that file in repo.tokenFile.",
    ),
    "GV612": Code(
        "A name used twice",
        "Two runtimes, or two pools of one kind, of poollet.yaml have the same name.",
        "Rename one.",
    ),
    "GV613": Code(
        "No such runtime",
        "A pool of poollet.yaml names a runtime that the file does not list.",
        "Correct the name, or add the runtime.",
    ),
    "GV614": Code(
        "A reserve that is no quantity",
        "reserved of a pool holds something other than a quantity such as 500m, 4 or 16Gi.",
        "Write a quantity; the hint says what was probably meant.",
    ),
    "GV615": Code(
        "An address that is none",
        "`repo.url` of a `poollet.yaml` has a host or a port that cannot be read.",
        "Correct it, e.g. `https://git.example.org/fleet.git`; an IPv6 address stands in brackets.",
    ),
    "GV616": Code(
        "Two pools on one runtime",
        "Two pools of one kind in a poollet.yaml stand on the same runtime, so that each would announce all that it has.",
        "Give each pool a runtime of its own, or announce one pool.",
    ),
    "GV617": Code(
        "A file of secrets that cannot be used",
        "The file that `volumeSecretsFile` of a poollet.yaml names is not `{namespace/name: {key: base64}}`, or others may read it.",
        "Correct what the message names; `chmod 600` it, and let the poollet's account own it.",
    ),
    "GV620": Code(
        "A report cannot be read",
        "A file on a poollet's report ref is not what its schema says: a version that does not match, or somebody else's push.",
        "Look at the ref's last commit. What the file is about counts as unknown until it reads again; nothing is deleted for it.",
    ),
    "GV621": Code(
        "A report that is refused",
        "What stands on a poollet's report ref is of another fleet or another poollet, does not say whose it is, or is not signed by one of the poollet's signers.",
        "Look at what pushes to that ref, and at its poollet.yaml; the pools count as silent until a right report comes.",
    ),
    "GV622": Code(
        "A pool that is not the poollet's",
        "A poollet announces a pool that gitvirt.yaml does not give it. By default it has those named like itself or `<itself>-*`.",
        "Give it the pool under `poollets` in gitvirt.yaml, or give the pool another name.",
    ),
}
