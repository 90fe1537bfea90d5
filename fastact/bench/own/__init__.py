"""A model of the user's own: its inputs, and a variant with each activation."""
