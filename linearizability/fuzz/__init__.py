"""Damaged and malformed history files, and the two results that each may have.

Each is refused in one sentence, or judged with everything that is in it: `runner.py` asks for that.
"""
