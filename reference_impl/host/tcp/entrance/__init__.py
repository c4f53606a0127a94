"""Let clients in: accept them, and hold back those that exceed the limits of connections."""
