"""What a transaction on a workspace offers, by feature: small protocols that every engine implements."""
