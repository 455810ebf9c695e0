"""Turning text into vectors: the bundled model, Ollama, or any OpenAI-compatible server."""
