"""What an engine offers, by feature: small protocols, those of a transaction included."""
