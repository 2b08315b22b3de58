"""The slender robot's paper done again (Lai et al., IJRR 2025), one experiment a module, in simulated time.

The real robot is an emulated one: a mesh, modulus, density, friction and drives of its own (`emulation/plant.py`). What
is recorded is what a tracker and the solver would see, under the topics of a run.
"""
