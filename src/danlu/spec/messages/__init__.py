"""What the server says, with codes and parameters, in English and Chinese."""
