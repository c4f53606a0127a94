"""The elections of the quorum: the state that a vote leaves on disk, and the limit of epochs."""
