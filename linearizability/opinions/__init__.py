"""Ask others: porcupine, Jepsen's rules, and a register's."""
