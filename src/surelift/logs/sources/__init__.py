"""Sources of rounds: files, data frames, streams and other engines."""
