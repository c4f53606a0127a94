"""The attack: workloads and faults against a running target, and the recorder of what happened."""
