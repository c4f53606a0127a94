"""Plans of schedules as data: perform them again, and reduce those that fail."""
