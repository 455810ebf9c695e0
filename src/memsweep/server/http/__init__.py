"""Agents over HTTP: the same tools as over standard input and output, behind tokens."""

PATH = "/mcp"
