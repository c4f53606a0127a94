"""The entry point of the stand-in for the apache/kafka image: it turns KAFKA_… variables into
server.properties.

As the published image documents it, `_` stands for a dot, `__` for an underscore, `___` for a dash.
The broker replaces this process (exec), so that signals reach it. Standard library only.
"""

import os
import shlex
import subprocess
from pathlib import Path

NO_SETTINGS = {"KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_VERSION"}
DEFAULT_CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
DEFAULT_DATA = "/var/lib/kafka/data"
PROPERTIES = Path("/etc/kafka/docker/server.properties")


def setting(variable: str) -> str:
    """Return the Kafka setting for an environment variable: KAFKA_LOG_DIRS -> log.dirs."""
    name = variable.removeprefix("KAFKA_").lower()
    name = name.replace("___", "\0").replace("__", "\1").replace("_", ".")
    return name.replace("\0", "-").replace("\1", "_")


def settings() -> dict[str, str]:
    found = {
        setting(variable): value
        for variable, value in os.environ.items()
        if variable.startswith("KAFKA_") and variable not in NO_SETTINGS
    }
    return {"log.dirs": DEFAULT_DATA, **found}


def main() -> None:
    told = settings()
    Path(told["log.dirs"]).mkdir(parents=True, exist_ok=True)
    PROPERTIES.write_text("".join(f"{key}={value}\n" for key, value in sorted(told.items())))
    heap = shlex.split(os.environ.get("KAFKA_HEAP_OPTS", "-Xms256m -Xmx256m"))
    more = shlex.split(os.environ.get("KAFKA_OPTS", ""))
    java = [
        "java",
        *heap,
        *more,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        "/opt/kafka/libs/*",
    ]
    cluster_id = os.environ.get("CLUSTER_ID", DEFAULT_CLUSTER_ID)
    format_it = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", cluster_id]
    subprocess.run([*java, *format_it, "-c", str(PROPERTIES)], check=True)
    os.execvp("java", [*java, "kafka.Kafka", str(PROPERTIES)])


if __name__ == "__main__":
    main()
