"""What the shipped suites do; one module each, with `work(place, parameters)`."""
