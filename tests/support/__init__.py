"""What the tests share: children to fork, a server to talk to, a store to look into."""
