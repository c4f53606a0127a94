"""Requests in our own codec, for all that no client library does."""
