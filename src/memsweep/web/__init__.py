"""The HTTP side: the guard before every door, and the doors themselves."""
