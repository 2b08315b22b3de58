"""What is done with a model: equilibria, steps in time, derivatives, stability."""
