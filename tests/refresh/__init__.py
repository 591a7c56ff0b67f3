"""Tests of the program that refreshes the knowledge from packages."""
