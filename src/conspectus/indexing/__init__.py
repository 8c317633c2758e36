"""The stages that build an index from documents, each a function from rows to rows."""
