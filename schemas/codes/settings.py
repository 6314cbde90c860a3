"""GV6xx: gitvirt.yaml, poollet.yaml and reports."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV601": Code(
        "Settings cannot be read",
        "gitvirt.yaml or poollet.yaml is empty, too large or not UTF-8, or contains several documents; or gitvirt.yaml is missing.",
        "Write one YAML document in UTF-8; `gitvirt init` creates a first one. Restore a missing gitvirt.yaml with the same fleet.id.",
    ),
    "GV602": Code(
        "Source and target are one branch",
        "branches.source and branches.target name the same branch, so people and the reconciler would overwrite each other.",
        "Name two branches. main and live are the defaults.",
    ),
    "GV603": Code(
        "Signatures are enforced without signers",
        "signatures.mode is enforce and signatures.signers is empty, so no commit could ever be accepted.",
        "List the public keys of the signers, or start with the mode warn.",
    ),
    "GV604": Code(
        "Pool with two owners",
        "Two entries of poollets name the same pool or pattern.",
        "A pool belongs to one poollet. Remove the pool from one of the entries.",
    ),
    "GV611": Code(
        "Password in a URL",
        "repo.url of poollet.yaml contains a password, which process lists and logs then show.",
        "Write the password to a file that only the poollet can read, and name that file in repo.tokenFile.",
    ),
    "GV612": Code(
        "Duplicate name",
        "Two runtimes, or two pools of one kind, of poollet.yaml have the same name.",
        "Rename one of them.",
    ),
    "GV613": Code(
        "Unknown runtime",
        "A pool of poollet.yaml names a runtime that is not in the file.",
        "Correct the name, or add the runtime.",
    ),
    "GV614": Code(
        "Malformed reserve",
        "A value in reserved of a pool is not a quantity such as 500m, 4 or 16Gi.",
        "Write a quantity; the hint suggests one.",
    ),
    "GV615": Code(
        "Malformed repo address",
        "The host or the port in repo.url of poollet.yaml is malformed.",
        "Correct the URL, e.g. `https://git.example.org/fleet.git`. Put an IPv6 address in brackets.",
    ),
    "GV616": Code(
        "Two pools on one runtime",
        "Two pools of one kind in poollet.yaml use the same runtime, so both would announce the same capacity.",
        "Give each pool its own runtime, or declare one pool.",
    ),
    "GV617": Code(
        "Unusable file of secrets",
        "The file that `volumeSecretsFile` of poollet.yaml names does not have the form `{namespace/name: {key: base64}}`, or other accounts can read it.",
        "Correct the entry that the message names; run `chmod 600` on the file, and make the poollet's account its owner.",
    ),
    "GV620": Code(
        "Unreadable report file",
        "A file on a poollet's report ref does not fit its schema: the versions do not match, or another program pushed to the ref.",
        "Look at the ref's last commit. Until the file can be read, its object counts as unknown, and nothing is deleted because of it.",
    ),
    "GV621": Code(
        "Report refused",
        "The report belongs to another fleet or another poollet, does not name its poollet, or is not signed by one of the poollet's signers.",
        "Find out which host pushes to that ref, and check its poollet.yaml. Until a valid report arrives, the pools count as not reporting.",
    ),
    "GV622": Code(
        "Pool of another poollet",
        "A poollet announces a pool that gitvirt.yaml does not assign to it. By default a poollet owns the pools named like itself or `<itself>-*`.",
        "Assign the pool to the poollet under `poollets` in gitvirt.yaml, or rename the pool.",
    ),
}
