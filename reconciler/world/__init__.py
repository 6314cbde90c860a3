"""Everything the reconciler knows at one moment: the source, the target branch and all reports, brought up to each snapshot by
what changed only. Decides nothing and writes nothing."""
