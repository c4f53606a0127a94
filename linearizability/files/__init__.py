"""Read files to their end, refuse unsound rows, and say why a file cannot be read."""
