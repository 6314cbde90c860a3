"""What becomes of objects that left the source, around the order of their deletion (`reconciler.decide.deletion`). Pure.

deletion_limit   how many deletions need an approval
undo             machines with data are kept for a while, and come back
retained         volumes whose data stays
"""
