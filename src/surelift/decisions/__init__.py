"""The verbs people call: each asks one question of logs."""
