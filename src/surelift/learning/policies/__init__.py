"""Policies that can be learned: Gaussian linear policies, softmax policies, torch modules, softmax over many items."""
