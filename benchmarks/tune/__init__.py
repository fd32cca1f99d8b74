"""Measures methods and writes the tables that choose between them."""
