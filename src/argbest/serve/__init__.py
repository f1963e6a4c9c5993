"""The live view: a page on this machine that shows how a stored study stands, and refreshes itself."""
