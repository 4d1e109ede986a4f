"""Running chains: seeds, stages, threads, progress, interrupts and checkpoints."""
