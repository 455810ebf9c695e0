"""The embedded engine: one SQLite file a workspace, several processes at once."""
