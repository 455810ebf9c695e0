"""The index service: from a folder on disk to what search shows, and back to the folder."""
