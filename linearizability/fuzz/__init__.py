"""Files that are damaged or mixed up, and what may become of them.

Each is refused in one sentence, or judged with everything that is in it: `runner.py` asks for that.
"""
