"""A comparison as a page for a browser, and as pictures."""
