"""Quotas: how much a client may produce and fetch, and how long it must wait beyond that."""
