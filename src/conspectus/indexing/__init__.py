"""The stages that make an index from documents, each a function from rows to rows."""
