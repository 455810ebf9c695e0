"""What is served over HTTP: the guard before every door, and the doors themselves."""
