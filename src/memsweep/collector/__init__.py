"""The collector: plan → look → apply → undo → purge."""
