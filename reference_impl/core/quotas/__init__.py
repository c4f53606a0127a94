"""How much a client may produce and fetch, and how long it waits when it was more."""
