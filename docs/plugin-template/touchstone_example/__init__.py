"""An example of each kind of plugin for Touchstone."""
