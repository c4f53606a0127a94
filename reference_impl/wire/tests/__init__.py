"""Tests of the wire package; `chance.py` draws messages, `java/` holds the oracles."""
