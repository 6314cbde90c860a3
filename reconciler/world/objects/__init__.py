"""Documents of one key in, what holds of that object out: its state, its references, and what validation finds."""
