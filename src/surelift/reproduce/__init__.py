"""The paper's tables and figures on real data, beside the published numbers; and what surelift's own methods add."""
