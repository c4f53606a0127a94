"""Replication of partitions: followers copy their leaders' logs, leaders keep the ISR.

Read it in this order: `rules/replicating.py` (the safety decisions), `copying.py` (what a follower
does to its log), `session.py` (the partitions that it fetches from one leader), `fetching.py` (the
loop that asks each leader). The other side is `handlers/fetch.py`: a follower's fetch passes
through the same handler as a consumer's, and reads to the end of the log. `partitions/partition.py`
stores the follower's progress and advances the high watermark by it; `isr.py` asks the controller
for another ISR.

Source: AbstractFetcherThread.java, ReplicaFetcherThread.java, ReplicaManager.java, Partition.java;
KIP-101, KIP-279, KIP-497 (AlterPartition), KIP-595 (diverging epochs in Fetch), KIP-903 (broker
epochs).
"""
