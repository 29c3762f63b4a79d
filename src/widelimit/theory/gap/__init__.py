"""From SGD to the limit: the gap between them, what theorems say about it, and plans that keep it small."""
