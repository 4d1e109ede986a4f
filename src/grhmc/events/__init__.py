"""When and how the momentum is refreshed: event rates, refreshment laws, U-turns and roots on dense output."""
