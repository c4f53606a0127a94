"""Shards of the coordinators: what one partition of `__consumer_offsets` or `__transaction_state`
says, in one leadership of this broker."""
