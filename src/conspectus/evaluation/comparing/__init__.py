"""Ways of answering side by side: questions about a whole corpus, and the answers of each condition to them."""
