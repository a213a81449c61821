"""What people save under a name: templates of jobs and views of runs."""
