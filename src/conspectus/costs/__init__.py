"""What work with a language model will cost, told before it is spent."""
