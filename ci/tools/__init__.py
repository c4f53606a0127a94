"""What brings a fresh machine to a working one: .venv first, then the tools in .cache."""
