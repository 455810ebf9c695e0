"""The code index: walk → fingerprint → delta → parse → chunk."""
