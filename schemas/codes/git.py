"""GV8xx: Git."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV800": Code(
        "Git cannot do it",
        "The repo does not allow what was asked; the message says what.",
        "The message says what to do; git status and git fsck tell more.",
    ),
    "GV801": Code(
        "Not a Git repo",
        "The directory is not inside a Git repo, or the repo there cannot be opened.",
        "Name a directory inside one, or make one with git init.",
    ),
    "GV802": Code(
        "Unknown revision",
        "No commit has that name: a typing mistake, a branch not fetched yet, or a clone without history.",
        "git branch -a and git tag list the names; git fetch brings what is new; git fetch --unshallow the history.",
    ),
    "GV803": Code(
        "Repo of another user",
        "Git opens no repo that another user owns, because its settings could run that user's commands as you.",
        "Run as its owner, or trust it: git config --global --add safe.directory DIRECTORY.",
    ),
    "GV804": Code(
        "Unsupported repo format",
        "The repo stores objects by SHA-256 or refs as a reftable, which gitvirt does not read yet.",
        "Use a repo with SHA-1 objects and files as refs, which is what git init makes by default.",
    ),
    "GV805": Code(
        "Damaged repo",
        "An object that a commit needs is missing or is not what its name says: a partial clone, or a broken disk.",
        "git fsck names the object; git fetch --refetch completes a partial clone; else clone anew.",
    ),
    "GV806": Code(
        "Not a commit",
        "A ref that must name a commit names a file or a folder.",
        "Point the ref at a commit, or delete it.",
    ),
    "GV807": Code(
        "Mirror in use",
        "Another process works with the same mirror directory; two would tread on each other's feet.",
        "Wait for it to end, or give this one a directory of its own.",
    ),
    "GV808": Code(
        "Malformed object",
        "A commit or a folder in the repo is not what Git defines, although nothing is broken: a program made it so.",
        "git fsck names it; push a commit made by git. receive.fsckObjects=true on the server keeps such out.",
    ),
    "GV810": Code(
        "Empty repo",
        "The remote has no branch and no report yet, so there is nothing to reconcile.",
        "gitvirt init makes a first commit; push it to the source branch.",
    ),
    "GV811": Code(
        "Missing source branch",
        "The remote does not have the branch that people's manifests are read from.",
        "Push it, or name the right one under branches.source in gitvirt.yaml.",
    ),
    "GV812": Code(
        "Rewritten source history",
        "The source branch was force-pushed: what was reconciled last is not in its history any more.",
        "Look at what would change; then approve it by a commit, or push the old head again.",
    ),
    "GV813": Code(
        "Colliding paths",
        "Two paths differ only in upper and lower case or in how an accent is written.",
        "Rename one of them: file systems that do not tell them apart check out only one.",
    ),
    "GV814": Code(
        "Source not followed",
        "The head of the source branch is not gone by, or only under protest: the branch is gone, or a commit is not signed as it should be.",
        "Push the branch, or let a signer vouch for the commit with a signed merge: docs/git.md. Until then the last good state stands.",
    ),
    "GV815": Code(
        "Damaged file on the target branch",
        "A file of the branch that gitvirt writes cannot be read, so what was recorded of its objects is unknown. Nothing is done to them.",
        "Put the file's last good text back on the target branch: git log shows it.",
    ),
    "GV816": Code(
        "Another fleet",
        "fleet.id of the source is another one than that of what was reconciled last. Hosts and machines of the old fleet would be "
        "strangers to it, so the commit is not gone by.",
        "Put the old id back. A fork that shall run beside its origin gets its own with gitvirt init --refork, and deletes the branch "
        "`live` that it came with.",
    ),
    "GV820": Code(
        "Unusable repo address",
        "The address of the repo holds a password, names a protocol that is not supported, or is not well formed.",
        "Write a path, file://, ssh://, host:path or https:// address; credentials have their own place: docs/git.md.",
    ),
    "GV821": Code(
        "Unusable credentials",
        "A token file cannot be read or holds no token, or a setting about access has an unknown value.",
        "Put the token on one line of the file that the message names; docs/git.md lists every setting.",
    ),
    "GV822": Code(
        "Cannot sign",
        "The key that commits are signed with cannot be read, needs a passphrase, or its program is missing.",
        "Give a key without a passphrase that only gitvirt's account may read, or one that an agent holds.",
    ),
    "GV823": Code(
        "Unusable signer",
        "A line in a list of signers is neither an ssh public key nor an OpenPGP fingerprint of 40 digits.",
        "Copy the whole line of the .pub file; before it only valid-after and valid-before may stand.",
    ),
    "GV830": Code(
        "Unsigned commit",
        "A commit that must be signed is not.",
        "Sign it: git commit --amend -S; or vouch for it with a signed merge onto the last good commit.",
    ),
    "GV831": Code(
        "Unknown signer",
        "A commit is signed by a key that is not among the signers.",
        "Have a signer vouch for it with a signed merge, or add the key to the signers by a commit of one of them.",
    ),
    "GV832": Code(
        "Expired signer",
        "A commit is signed by a key whose time is over, or has not come. The time of the check counts.",
        "Extend the key, or sign with another one.",
    ),
    "GV833": Code(
        "Revoked signer",
        "A commit is signed by a key that its owner has revoked.",
        "Find out why; then have another signer vouch for it.",
    ),
    "GV834": Code(
        "Tampered commit",
        "A commit carries the signature of a signer that does not fit its content.",
        "Somebody made this on purpose, or a program broke it: look at who pushed it before anything else.",
    ),
    "GV835": Code(
        "Signature not readable",
        "A commit's signature is damaged, doubled, of an unknown kind, or cannot be checked on this machine.",
        "Sign with ssh or OpenPGP; the message names what is missing here.",
    ),
}
