"""Frozen values and their laws. Pure: no clock, no disk, no environment."""
