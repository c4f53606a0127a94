"""Histories that others wrote, turned into ours."""
