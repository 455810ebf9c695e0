"""Remembering and recalling: text → chunks → vectors and names → the store, and back."""
