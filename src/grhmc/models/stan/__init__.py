"""Stan programs as log densities: compiled by BridgeStan, or interpreted by stanli."""
