"""Runs ours and the peers' benchmark programs in turn and compares them."""
