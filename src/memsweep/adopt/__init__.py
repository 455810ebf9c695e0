"""Care for the memory that clients keep in files of their own: a mirror, a plan of what is dead, and a way back."""
