"""What can be learned, in which order, and from how many samples."""
