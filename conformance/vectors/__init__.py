"""Golden vectors: requests and responses of every API and version, as bytes that Apache Kafka read
and wrote. `record.py` records them, `reader.py` reads them; docs/vectors describes the format."""
