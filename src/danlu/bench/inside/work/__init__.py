"""The work of the shipped suites: one module each, with a function `work(place, parameters)`."""
