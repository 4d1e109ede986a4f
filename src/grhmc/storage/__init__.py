"""A run on disk: its draws as they are made, and all that is needed to go on with it."""
