"""Scenarios: runs as values, each with the verdict in which it must end. Nothing here runs one.

expectation   one scenario and its expected verdict
regression    what has been found once, with its seed: the same every night
exploration   target × workload × nemesis × settings, as a seed chooses
tables        the documents' guarantee tables: each cell a scenario and what it may show
effects       what a recorded run shows of such a cell: records lost, doubled, out of order
"""
