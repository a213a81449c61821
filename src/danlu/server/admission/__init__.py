"""What a request passes before a route sees it: who asks, how long its body may be, and whose turn it is."""
