"""Report the status of a running cluster, by Kafka's public requests: quorum, brokers, every
replica."""
