"""The strategies: each a pure rule that names garbage, with a reason for each item."""
