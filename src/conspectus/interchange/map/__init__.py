"""The map of an index: its graph laid out by communities, as a page that opens in any browser, and as a
picture."""
