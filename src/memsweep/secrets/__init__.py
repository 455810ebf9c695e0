"""Secrets in texts: what they look like, where they stand, and what is written in their place."""
