"""Looking after workspaces: doctor, backup, restore."""
