"""What answers say and stand on: claims, their clusters, grounding, and where facts are lost on the way."""
