"""Shards of the coordinators: the state that one partition of `__consumer_offsets` or
`__transaction_state` holds, during one leadership of this broker."""
