"""The knowledge graph: facts that strengthen and fade."""
