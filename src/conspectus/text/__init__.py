"""Reading text without a language model: sentences, words, names, concepts, and boilerplate."""
