"""The hot loops: C, compiled when the package is built, each beside the NumPy code that says what it does.

Without a compiled library the NumPy code answers: the same, to rounding, only slower.
"""
