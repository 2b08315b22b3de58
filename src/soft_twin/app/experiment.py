"""`soft-twin experiment NAME`: do a paper's experiment again; prints its table, writes its pictures."""

import argparse

from soft_twin.app.study import add_options, add_study_arguments, run_study
from soft_twin.studies import EXPERIMENTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser, EXPERIMENTS, "experiment")
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    return run_study(arguments, EXPERIMENTS, "experiment", "soft_twin.studies")
