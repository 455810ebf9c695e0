"""Find the project that somebody works on, and the workspace that remembers it."""
