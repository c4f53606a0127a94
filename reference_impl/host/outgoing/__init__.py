"""The connections that a client or a node opens, and the security settings for them."""
