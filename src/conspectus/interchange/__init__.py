"""Between an index and other tools: their files read as an index of ours, ours written for them."""
