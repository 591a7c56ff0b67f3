"""What is seen in a file, whatever its language: values with their origins, calls, commands, entries of configuration files."""
