"""Statistics that add up over rounds, the keys they are split by, and the plan of what to add up."""
