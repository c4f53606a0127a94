"""Tests of the log: one file for each module, a model of the whole, and Apache Kafka's own
classes as oracle.
"""
