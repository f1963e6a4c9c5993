"""Reports: the numbers behind the pictures of a study, and the pictures."""
