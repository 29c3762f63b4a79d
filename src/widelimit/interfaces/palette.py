"""Colours and symbols of every figure."""

# Okabe and Ito's palette, told apart by every kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SYMBOLS = "osD^vP"
