"""Vector search: finds memories by meaning, exactly in small stores, by sign bits and exact rescoring in large ones."""
