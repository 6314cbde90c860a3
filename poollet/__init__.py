"""The host agent: assignments in from Git, actions over the IRI, a report back to Git."""
