"""What happens to a request before its route: authentication, limits of its body, and fair scheduling between users."""
