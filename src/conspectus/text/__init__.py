"""Reading text without a language model: sentences, words, names, concepts, and what is only furniture."""
