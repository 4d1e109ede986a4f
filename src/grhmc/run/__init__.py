"""Running chains: seeds, stages, threads, progress and interrupts."""
