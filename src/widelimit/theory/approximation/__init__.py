"""How many neurons a function needs: Barron's norm and networks sampled from it."""
