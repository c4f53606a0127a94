"""The derived field tables, one per Kafka version, and the script which derives them."""
