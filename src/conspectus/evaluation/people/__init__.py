"""People as judges: blinded pairs of answers for them, their ratings, and how far these agree with the judge's."""
