"""The training loop and what it runs on: problems, batches, devices, processes, checkpoints."""
