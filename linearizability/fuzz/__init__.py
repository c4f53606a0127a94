"""Damaged and malformed history files. Each must either be refused in one sentence, or be judged
with everything that it contains; `runner.py` checks that.
"""
