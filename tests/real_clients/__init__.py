"""Tests with the real clients, installed by `make test-clients`; they talk to a scripted model on loopback."""
