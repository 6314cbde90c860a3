"""Verbs that change something, as a commit on the source branch in the caller's name. Nothing is imperative behind Git's back."""
