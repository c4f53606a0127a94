"""The target under examination: how it is reached, started, configured, secured and tidied."""
