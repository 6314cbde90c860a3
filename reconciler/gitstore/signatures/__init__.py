"""Who signed a commit: `signers` reads whose keys count, `verifier` judges one commit, `trust` a whole ref, `signing` signs ours.

`join_token` makes and judges what an operator signs so that a host may join.
"""
