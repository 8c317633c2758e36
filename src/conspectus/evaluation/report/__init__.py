"""The report on a comparison: one page and one Markdown file, of all that its folder has and what it lacks."""
