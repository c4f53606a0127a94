"""Read a hosts file, so that each node can have other addresses for the hosts of its peers than the
system.

Source: hosts(5); jdk.net.hosts.file of Java, which does the same for a JVM.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path

from reference_impl.core.configs.keys import BadConfig


def read(file: Path) -> dict[str, str]:
    """Return name -> address; of several lines with one name the first counts. Raise BadConfig if
    the file cannot be read, or a line is not ADDRESS NAME…"""
    try:
        text = file.read_text("utf-8", "replace")
    except OSError as error:
        raise BadConfig(
            f"--resolver {file}: {error.strerror}; name a file with lines of ADDRESS NAME…"
        ) from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        address, *names = line.partition("#")[0].split() or [""]
        if not address:
            continue
        try:
            ipaddress.ip_address(address)
        except ValueError:
            names = []
        if not names:
            raise BadConfig(f"--resolver {file}, line {number}: write it as ADDRESS NAME…")
        for name in names:
            found.setdefault(name, address)
    return found
