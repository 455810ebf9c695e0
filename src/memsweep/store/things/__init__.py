"""Every stored thing, declared once: what its columns are, how they are kept, checked and mended."""
