"""The settings of a node as a user gives them: options, files of properties, names of hosts."""
