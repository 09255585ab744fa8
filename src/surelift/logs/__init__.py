"""The rows of a log: their sources, columns, ranges and words, and the faults that disqualify them."""
