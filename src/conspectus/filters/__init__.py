"""An index seen in part, or several as one: a value of the same type, so that every method works on it unchanged."""
