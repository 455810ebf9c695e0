"""Where memories live. `protocol` says what an engine does; each engine has a folder."""
