"""Questions as values: what to add up, and what the sums answer."""
