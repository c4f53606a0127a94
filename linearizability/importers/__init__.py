"""Convert the histories of other tools to our format."""
