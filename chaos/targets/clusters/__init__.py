"""Run clusters of child processes on this machine: nodes, addresses, links and roles."""
