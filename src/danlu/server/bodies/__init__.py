"""How the bodies of requests are taken."""
