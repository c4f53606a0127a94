"""Containers, and what the docker command line says of them."""
