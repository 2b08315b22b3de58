"""`soft-twin COMMAND …`: the command line."""

import argparse
import importlib
import os
import sys

from soft_twin.app import COMMANDS
from soft_twin.errors import SoftTwinError
from soft_twin.requirements import check_requirements


def main(argv: list[str] | None = None) -> int:
    """Run one command; its exit status: 0 done, 2 a clear message about what is wrong, 130 interrupted."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        check_requirements()
        arguments = _parse(argv)
        return importlib.import_module(f"soft_twin.app.{arguments.command}").run(arguments)
    except SoftTwinError as error:
        print(f"soft-twin: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\nsoft-twin: {interrupt}" if interrupt.args else "\nsoft-twin: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soft-twin", description="Real -> sim -> real for soft robots.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in argv if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == asked:
            importlib.import_module(f"soft_twin.app.{name}").add_arguments(command)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
