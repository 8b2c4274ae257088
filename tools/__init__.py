"""What developers run besides the tests: the bundled example, the hygiene of tracked files."""
