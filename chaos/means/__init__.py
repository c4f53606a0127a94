"""Make faults with processes, network links, disks, clocks and containers of this machine."""
