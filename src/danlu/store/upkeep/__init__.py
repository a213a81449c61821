"""Work on whole stores: backup, restore, move, clean."""
