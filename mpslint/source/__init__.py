"""A file as text: read it, name places in it, write it back byte for byte."""
