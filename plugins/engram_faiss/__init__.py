"""The vector index: nearest memories by cosine similarity, filtered before the cut."""
