"""The anomalies of a verdict told as stories: one cause is one group, ranked, in one paragraph.

`families`: how serious each kind of anomaly is. `scene`: what the history says of the records, the
operations and the faults behind the anomalies. `grouping`: which anomalies have one cause, and
which group comes first. `telling`: a group in plain English. `model`: a group as a value.
"""
