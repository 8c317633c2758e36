"""Algorithms on arrays: arrays in, arrays out, and nothing else of Conspectus imported."""
