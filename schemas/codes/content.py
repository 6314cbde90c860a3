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
        "A Secret's values can be read by whoever can read the repo, and Git history never forgets them.",
        "Encrypt it with SOPS or age and change the secret itself; or set secrets.plain: allow in gitvirt.yaml.",
    ),
    "GV511": Code(
        "Secret is only partly encrypted",
        "Some values of the Secret are encrypted, others are in plain text.",
        "Encrypt the whole document anew, and change the values that were readable.",
    ),
}
