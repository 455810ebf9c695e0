"""The ports of an engine, by feature: small protocols, those of a transaction included."""
