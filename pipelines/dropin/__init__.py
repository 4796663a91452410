"""What stands in for iree-compile: its command line, and what it hands to the real one."""
