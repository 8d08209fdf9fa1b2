"""What any target is: its file, its processes, the packages that it needs, and waiting for it."""
