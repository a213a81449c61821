"""Jobs, their logs and shells, job files, templates and examples."""
