"""Long searches for trouble: each campaign makes seeded cases, and says of each whether the library was right."""
