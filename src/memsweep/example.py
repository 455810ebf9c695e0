"""The memsweep.toml that `memsweep config init` writes: every setting with its default. Pure text."""

from __future__ import annotations

EXAMPLE = """\
# memsweep.toml: every setting with its default. The environment wins: MEMSWEEP_HOME, MEMSWEEP_EMBEDDING_MODEL, …

# home = ""                     # where memories live; empty means the platform's data folder
# store = ""                    # empty means files in home; or falkor://user:password@host:6379 (falkors:// for TLS)
# workspace = "default"         # what an empty workspace id means
# log_level = "WARNING"         # DEBUG, INFO, WARNING or ERROR

[embedding]
# provider = "local"            # local (bundled, no network), ollama, or openai (any compatible server)
# url = ""                      # empty means the provider's usual address
# model = ""                    # empty means nomic-embed-text (ollama), text-embedding-3-small (openai)
# api_key_env = "OPENAI_API_KEY"  # the environment variable that holds the key
# timeout_seconds = 30.0

[chunking]
# size = 512                    # tokens
# overlap = 50

[code]
# max_file_size = 1048576       # bytes; larger files are not indexed
# secrets = []                  # patterns of files never to index, besides .env*, keys and credentials

[gc]
# plan_hours = 1.0              # how long a saved plan can be applied
# grace_days = 0.0              # what is younger is protected
# apply_seconds = 60.0          # an apply that takes longer is rolled back
# purge_days = 30.0             # how long trash is kept at least

[graph]                         # how facts fade, and when they have faded away
# rates = {}                    # what is left after a day, by type, such as { person = 0.998, event = 0.993 }
# other_rate = 0.996            # for every other type
# edge_rate = 0.997             # for relations
# node_threshold = 0.1          # graph_prune takes entities below this confidence
# edge_threshold = 0.05         # and relations below this weight
# max_age_days = 30.0           # but no entity that was seen within so many days

[context]                       # context windows; context_gc_configure changes the numbers of one
# soft_tokens = 100000          # above it, small batches are stashed
# hard_tokens = 200000          # a full collection starts at 90 % of it
# changes_per_step = 20         # so many new segments between two looks at a few of them
# batch = 20                    # a small step stashes so many at most
# last_n = 10                   # the last messages are roots
# decision_minutes = 60         # decisions are roots for so long
# encoding = "o200k_base"       # how tokens are counted: o200k_base, cl100k_base, or length/4 (an estimate)
# weights = {}                  # what keep_score is made of, such as { recency = 0.15, references = 0.1 }

[schedule]                      # background collection by a running server
# enabled = false
# cron = "0 2 * * *"            # minute hour day month weekday, by the clock on the wall
# strategies = ["stale_code"]
# workspaces = []               # empty means all
# ttl_days = 0.0                # for `expired`; 0 means only what has a date of its own
# purge_days = 0.0              # also purge what has been in the trash for so long; 0 means never
# notify_command = []           # gets the summary as JSON on standard input
# notify_url = ""               # gets the summary as JSON by POST
"""
