"""GV8xx: Git."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV800": Code(
        "Git operation not possible",
        "The repo does not support the operation that the message names.",
        "Follow the message; git status and git fsck show more.",
    ),
    "GV801": Code(
        "Not a Git repo",
        "The directory is not inside a Git repo, or the repo there cannot be opened.",
        "Name a directory inside a repo, or create one with git init.",
    ),
    "GV802": Code(
        "Unknown revision",
        "No commit has that name: a typing mistake, a branch not fetched yet, or a clone without history.",
        "git branch -a and git tag list the names; git fetch brings new ones; git fetch --unshallow brings the history.",
    ),
    "GV803": Code(
        "Repo of another user",
        "Another user owns the repo. Git does not open it, because its settings could run that user's commands as you.",
        "Run gitvirt as the owner, or trust the repo: git config --global --add safe.directory DIRECTORY.",
    ),
    "GV804": Code(
        "Unsupported repo format",
        "The repo stores objects by SHA-256 or refs as a reftable, which gitvirt does not read yet.",
        "Use a repo with SHA-1 objects and files as refs, which is what git init makes by default.",
    ),
    "GV805": Code(
        "Damaged repo",
        "An object that a commit needs is missing or does not match its hash: a partial clone, or a broken disk.",
        "git fsck names the object. git fetch --refetch completes a partial clone; otherwise clone again.",
    ),
    "GV806": Code(
        "Not a commit",
        "The ref points to a file or a folder instead of a commit.",
        "Point the ref at a commit, or delete it.",
    ),
    "GV807": Code(
        "Mirror in use",
        "Another process uses the same mirror directory, and two would corrupt it.",
        "Wait until the other process ends, or give this one its own directory.",
    ),
    "GV808": Code(
        "Malformed object",
        "A commit or a folder in the repo has a format that Git does not define: a program wrote it, the disk is not damaged.",
        "git fsck names the object; push a commit made by git. Set receive.fsckObjects=true on the server to refuse such objects.",
    ),
    "GV810": Code(
        "Empty repo",
        "The remote has no branch and no report yet, so there is nothing to reconcile.",
        "Run gitvirt init to create a first commit, and push it to the source branch.",
    ),
    "GV811": Code(
        "Missing source branch",
        "The remote does not have the source branch, from which gitvirt reads the manifests.",
        "Push the branch, or correct branches.source in gitvirt.yaml.",
    ),
    "GV812": Code(
        "Rewritten source history",
        "The source branch was force-pushed: its history no longer contains the last reconciled commit.",
        "Review what would change; then approve it with a commit, or push the old head again.",
    ),
    "GV813": Code(
        "Colliding paths",
        "Two paths differ only in upper and lower case or in how an accent is written.",
        "Rename one of them: some file systems cannot store both.",
    ),
    "GV814": Code(
        "Source head not used",
        "The head of the source branch is ignored, or used with a warning: the branch is missing, or a commit lacks a required signature.",
        "Push the branch, or let a signer approve the commit with a signed merge: docs/git.md. Until then gitvirt keeps the last reconciled commit.",
    ),
    "GV815": Code(
        "Damaged file on the target branch",
        "A file of the target branch cannot be read, so the recorded state of its objects is unknown. gitvirt does not change these objects.",
        "Reset the live branch to its last commit in which the file can be read (git log shows it), then approve that as the hosts ask.",
    ),
    "GV816": Code(
        "Another fleet",
        "fleet.id of the source differs from that of the last reconciled commit, so the commit is not used. With another fleet.id, "
        "gitvirt would treat every existing host and machine as foreign.",
        "Restore the old fleet.id. For a fork that runs beside its origin, run gitvirt init --refork and delete the branch "
        "`live` that was copied with it.",
    ),
    "GV820": Code(
        "Unusable repo address",
        "The address of the repo holds a password, names a protocol that is not supported, or is not well formed.",
        "Write a path or a file://, ssh://, host:path or https:// address. docs/git.md says where credentials belong.",
    ),
    "GV821": Code(
        "Unusable credentials",
        "A token file cannot be read or holds no token, or a setting about access has an unknown value.",
        "Write the token on one line of the file that the message names. docs/git.md lists every setting.",
    ),
    "GV822": Code(
        "Cannot sign",
        "The signing key cannot be read or needs a passphrase, or the signing program is missing.",
        "Use a key without a passphrase that only gitvirt's account can read, or a key in an agent.",
    ),
    "GV823": Code(
        "Unusable signer",
        "A line in a list of signers is neither an ssh public key nor an OpenPGP fingerprint of 40 digits.",
        "Copy the whole line of the .pub file. Only valid-after and valid-before may precede it.",
    ),
    "GV830": Code(
        "Unsigned commit",
        "The fleet requires signed commits, and this commit has no signature.",
        "Sign the commit: git commit --amend -S. Or approve it with a signed merge onto the last good commit.",
    ),
    "GV831": Code(
        "Unknown signer",
        "The key that signed the commit is not in the list of signers.",
        "Let a signer approve the commit with a signed merge, or add the key to the signers with a commit that a signer signs.",
    ),
    "GV832": Code(
        "Expired signer",
        "The key that signed the commit has expired or is not valid yet, at the time of the check.",
        "Extend the validity of the key, or sign with another key.",
    ),
    "GV833": Code(
        "Revoked signer",
        "The owner of the key that signed the commit has revoked it.",
        "Find out why; then let another signer approve the commit.",
    ),
    "GV834": Code(
        "Tampered commit",
        "The commit carries a signature of a signer, and the content does not match it.",
        "The commit was altered, on purpose or by a program. First find out who pushed it.",
    ),
    "GV835": Code(
        "Signature not readable",
        "The signature is damaged, duplicated, of an unknown kind, or cannot be checked on this machine.",
        "Sign with ssh or OpenPGP. The message names what is missing on this machine.",
    ),
}
