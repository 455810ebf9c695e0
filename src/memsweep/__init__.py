"""Long-term memory for AI agents, with a garbage collector that can be trusted."""
