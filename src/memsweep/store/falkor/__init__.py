"""The engine beyond one machine: FalkorDB, one graph a workspace."""
