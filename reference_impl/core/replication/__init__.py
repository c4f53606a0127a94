"""Replication of partitions: followers copy their leaders' logs.

Read it in this order: `rules/replicating.py` (the safety decisions), `copying.py` (what a follower
does to its log), `session.py` (the partitions that it fetches from one leader), `fetching.py` (the
loop that asks each leader). The other side is `handlers/fetch.py`: a follower's fetch passes
through the same handler as a consumer's, and reads to the end of the log.

Source: AbstractFetcherThread.java, ReplicaFetcherThread.java, ReplicaManager.java; KIP-101,
KIP-279, KIP-595 (diverging epochs in Fetch), KIP-903 (broker epochs).
"""
