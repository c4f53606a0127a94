"""Second opinions: porcupine's, those by Jepsen's rules, and those on registers."""
