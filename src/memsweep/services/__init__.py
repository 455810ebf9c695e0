"""The operations on one workspace, by feature; every door uses these."""
