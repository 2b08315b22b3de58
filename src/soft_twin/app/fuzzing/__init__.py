"""Fuzzing of every kind of file that the package reads.

A case is a file made from a seed: a good one that was broken, or one that was bad from the start. Reading it must end
in its content or in one named error, within five seconds and a gigabyte, and what it ends in must not be nonsense.
`cases.py` has the kinds of files, `judge.py` reads one file, `workers.py` many in processes of their own.
"""
