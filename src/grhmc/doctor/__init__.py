"""Whether an installation is in order, and what to do where it is not: what `grhmc doctor` prints."""
