"""Which project somebody is at work on, and which workspace remembers it."""
