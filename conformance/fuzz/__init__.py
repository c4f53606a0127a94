"""Fuzz any target: requests with one broken piece, record batches with one wrong field, and random
sequences of operations that a small model predicts.

`mutants.py` and `batches.py` list the frames, `volley.py` sends them, `judge.py` judges the
results, `model.py` predicts the operations that `machine.py` draws, and `run.py` divides the time
among them. Every finding comes with a command that sends its frames, or its operations, again.
"""
