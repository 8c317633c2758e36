"""What reaches a language model: a request out, a reply back, within limits and budget, and kept."""
