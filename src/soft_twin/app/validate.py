"""`soft-twin validate NAME`: check the twin against what is known; prints a table, writes pictures."""

import argparse

from soft_twin.app.study import add_study_arguments, run_study
from soft_twin.studies import VALIDATIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser, VALIDATIONS, "validate")


def run(arguments: argparse.Namespace) -> int:
    return run_study(arguments, VALIDATIONS, "validate", "soft_twin.studies")
