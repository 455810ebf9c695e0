"""A workspace as one file of SQLite: its schema, its connections, its seal, and what must hold of it.

The SQLite engine keeps workspaces in such files; every engine writes them as backups and reads them back.
"""
