"""Ten clients train a small network on handwritten digits, and one of them is malicious."""
