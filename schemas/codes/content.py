"""GV5xx: quota and secrets."""

from schemas.codes.code import Code

CODES: dict[str, Code] = {
    "GV501": Code(
        "Quota exceeded",
        "The objects of the namespace need more than its ResourceQuota grants.",
        "Ask for less, remove objects, or raise the quota.",
    ),
    "GV510": Code(
        "Secret in plain text",
        "Everyone who can read the repo can read the values of the Secret, and they stay in Git history.",
        "Encrypt it with SOPS or age, and change the secret itself. For a test repo, set secrets.plain: allow in gitvirt.yaml.",
    ),
    "GV511": Code(
        "Secret is only partly encrypted",
        "Some values of the Secret are encrypted, others are in plain text.",
        "Encrypt the whole document again, and change the secrets that were readable.",
    ),
}
