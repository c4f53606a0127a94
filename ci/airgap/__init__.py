"""Docker where there is no daemon and no registry: a private daemon, and stand-ins for images."""
