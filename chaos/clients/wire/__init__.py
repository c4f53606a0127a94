"""Send requests in our own codec, for everything that client libraries cannot do."""
