"""Do the judges judge rightly? Valid histories from a small exact model, and ways to break them."""
