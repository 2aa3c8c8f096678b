"""What the screens are made of. No widget knows SQL."""
