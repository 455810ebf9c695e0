"""Background collection: when it is due, what a run does, the record of the runs."""
