"""Run nodes in containers of this machine's Docker daemon."""
