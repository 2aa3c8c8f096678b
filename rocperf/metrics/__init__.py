"""What counters mean: formulas as data, evaluated with a state for every value."""
