"""The simulator: nodes, their network, their clients and a whole run, in virtual time."""
