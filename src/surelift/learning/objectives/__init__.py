"""What a learner maximises: certified lower bounds (PAC-Bayes), or plain off-policy estimates."""
