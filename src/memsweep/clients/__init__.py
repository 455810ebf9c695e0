"""The configuration of agent clients: where it is, how it is changed, and how that is undone."""
