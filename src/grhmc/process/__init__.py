"""The sampling process: its whole state as plain arrays, one step of it, and the loop that fills draws."""
