"""The door for the hooks of agents' clients: an event as JSON comes in, and what the model should see goes out."""
