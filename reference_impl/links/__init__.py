"""Connections to brokers, as a client and another node see them, without a socket."""
