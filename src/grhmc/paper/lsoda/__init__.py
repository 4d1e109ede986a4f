"""Slow, independent implementations that the fast ones are checked against."""
