"""The reference producer and consumer: state machines without a socket, a clock or a thread.

Start with README.md. `producer.Producer` and `consumer.Consumer` are stepped by a host; over TCP,
with futures, they are `reference_impl.host.clients`.
"""
