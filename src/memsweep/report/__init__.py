"""Results in words and in JSON: one wording for every door. Pure."""
