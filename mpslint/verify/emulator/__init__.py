"""What a Mac's GPU would do with a training, without computing it: memory, compiled graphs, operators.
Imported only in the child process."""
