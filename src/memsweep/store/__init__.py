"""The stores of memories. `protocol` declares an engine; each engine has a folder."""
