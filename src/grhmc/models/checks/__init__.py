"""What a user's log density is tested for: that its gradient is right, and that it keeps the contract."""
