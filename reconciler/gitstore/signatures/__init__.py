"""Who signed a commit: `signers` reads whose keys count, `verifier` judges one commit, `trust` a whole ref, `signing` signs ours."""
