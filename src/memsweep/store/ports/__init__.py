"""What a transaction on a workspace reads and writes, by feature. Every engine implements these."""
