"""Connections to brokers, for clients and for nodes, as state machines without a socket."""
