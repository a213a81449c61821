"""Parts of the precision benchmark."""
