"""The anomalies of a verdict as stories: anomalies with one cause form a group, groups are ranked,
and each is described in one paragraph.

`families`: how serious each kind of anomaly is. `scene`: the records, operations and faults of the
history that belong to the anomalies. `grouping`: which anomalies have one cause, and which group
comes first. `telling`: a group in plain English. `model`: a group as a value.
"""
