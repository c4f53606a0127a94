"""Writes to and reads from a broker with Spark's Kafka connector; a process of its own, since a
session keeps its JVM. `python spark_smoke.py HOST:PORT JARS`; prints a line for each thing done.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

COUNT = 200
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def session(jars: str) -> SparkSession:
    """Start a small session: two threads, listening on loopback only."""
    settings = {
        "spark.jars": ",".join(str(jar) for jar in sorted(Path(jars).glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("spark-smoke")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def rows(spark: SparkSession) -> DataFrame:
    """COUNT keys and values."""
    numbers = spark.range(COUNT).select(col("id").cast("string").alias("key"))
    return numbers.withColumn("value", col("key"))


def read(spark: SparkSession, bootstrap: str, topic: str) -> set[str]:
    """Read every value of a topic, as a batch query does."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    found = reader.option("subscribe", topic).load().select(col("value").cast("string"))
    values = [row[0] for row in found.collect()]
    assert len(values) == len(set(values)), f"{topic}: a record came twice"
    return set(values)


def batches(spark: SparkSession, bootstrap: str, expected: set[str]) -> None:
    """Batch queries write with each codec, and read back."""
    for codec in CODECS:
        topic = f"spark-{codec}"
        writer = rows(spark).write.format("kafka").option("kafka.bootstrap.servers", bootstrap)
        writer.option("topic", topic).option("kafka.compression.type", codec).save()
        print("codec", codec, read(spark, bootstrap, topic) == expected, flush=True)


def stream(spark: SparkSession, bootstrap: str, expected: set[str]) -> None:
    """Copy one topic to another by a streaming query in several rounds; run again, it finds from
    the offsets in its checkpoint that nothing is left."""
    with tempfile.TemporaryDirectory() as checkpoint:
        for _ in range(2):
            source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
            source = source.option("subscribe", "spark-zstd").option("maxOffsetsPerTrigger", 120)
            copied = source.option("startingOffsets", "earliest").load().select("key", "value")
            sink = copied.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
            sink = sink.option("topic", "spark-copied").option("checkpointLocation", checkpoint)
            sink.trigger(availableNow=True).start().awaitTermination()
    print("stream", read(spark, bootstrap, "spark-copied") == expected, flush=True)


def main() -> None:
    bootstrap, jars = sys.argv[1:]
    spark = session(jars)
    spark.sparkContext.setLogLevel("ERROR")
    expected = {str(number) for number in range(COUNT)}
    batches(spark, bootstrap, expected)
    stream(spark, bootstrap, expected)
    spark.stop()


if __name__ == "__main__":
    main()
