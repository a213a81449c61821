"""SSH keys of users, and who enters jobs with them."""
