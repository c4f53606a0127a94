"""Tools of this machine: processes, links, disks and whatever else faults are made with."""
