"""What the reports of poollets say, judged: who may speak of what, how fresh it is, and what it means for status."""
