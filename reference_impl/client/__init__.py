"""The reference producer and consumer: state machines without a socket, a clock or a thread.

Start with README.md. A host steps `producer.Producer` and `consumer.Consumer`;
`reference_impl.host.clients` is the host for TCP, with futures.
"""
