"""Explain an anomaly: the fewest operations that still show it, in words and in a drawing.

`shrink`: delta debugging with the checker itself as the test. `words`: operations in words.
`drawing`: the operations in time, and what each partition holds by them. `page`: all of it as one
HTML file.
"""
