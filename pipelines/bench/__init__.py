"""What `serenity bench` measures, one module a command; `pipelines/cli/bench.py` parses and prints."""
