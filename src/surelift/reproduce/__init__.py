"""The paper's tables and figures on real data, next to the published numbers, and what surelift's own methods add."""
