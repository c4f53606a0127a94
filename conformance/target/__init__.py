"""The target under test: how it is reached, started, configured, secured and cleaned up."""
