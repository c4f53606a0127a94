"""Scenarios: runs as values, each with the verdict that it must have. Nothing here runs one.

expectation   one scenario and its expected verdict
regression    scenarios of past findings, with their seeds: the same every night
exploration   target × workload × nemesis × settings, chosen by a seed
tables        the documents' guarantee tables: each cell is a scenario and what it may show
effects       counts what the run of such a cell shows: records lost, duplicated, out of order
"""
