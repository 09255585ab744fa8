"""From logged rounds to training examples: features, fingerprints, data sets."""
