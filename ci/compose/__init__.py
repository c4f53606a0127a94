"""Prove that docker-compose.yml works: start it, wait until it is healthy, attack it, stop it."""
