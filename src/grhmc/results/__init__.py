"""What a run gives back: draws in ArviZ's schema; and files of plain arrays."""

from grhmc.results.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from grhmc.results.datatree import build_datatree

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "build_datatree",
    "load_checkpoint",
    "save_checkpoint",
]
