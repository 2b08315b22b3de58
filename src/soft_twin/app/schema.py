"""`soft-twin schema`: the JSON schema of robots' descriptions, for editors; `--reference`: the same for people."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reference", action="store_true", help="instead, all keys as tables in Markdown")


def run(arguments: argparse.Namespace) -> int:
    from soft_twin.descriptions.schema import json_schema, reference

    print(reference() if arguments.reference else json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0
