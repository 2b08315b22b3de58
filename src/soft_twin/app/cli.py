"""`soft-twin COMMAND …`: the command line."""

import argparse
import importlib
import os
import sys
from pathlib import Path

from soft_twin.app import COMMANDS
from soft_twin.errors import SoftTwinError
from soft_twin.files import NO_ROOM
from soft_twin.interruptions import ended_as_interrupted
from soft_twin.requirements import check_requirements


def main(argv: list[str] | None = None) -> int:
    """Run one command; its exit status: 0 done, 2 a clear message about what is wrong, 130 interrupted."""
    with ended_as_interrupted():
        return _status(sys.argv[1:] if argv is None else argv)


def _status(argv: list[str]) -> int:
    if sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # what the terminal's encoding does not have
    try:
        check_requirements()
        arguments = _parse(argv)
        status = importlib.import_module(f"soft_twin.app.{arguments.command}").run(arguments)
        sys.stdout.flush()
        return status
    except SoftTwinError as error:
        print(f"soft-twin: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"\nsoft-twin: {interrupt}" if interrupt.args else "\nsoft-twin: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _say_no_more()
        return 0
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        file = f" '{error.filename}'" if error.filename else ""  # or the output
        print(f"soft-twin: cannot write{file}: {error.strerror}", file=sys.stderr)
        _end_output()
        return 2


def _end_output() -> None:
    """Print what is left, where there is room for it."""
    try:
        sys.stdout.flush()
    except OSError:
        _say_no_more()


def _say_no_more() -> None:
    """What is left to be printed goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soft-twin", description="Real -> sim -> real for soft robots.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in argv if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        command.register("type", Path, _path)
        if name == asked:
            importlib.import_module(f"soft_twin.app.{name}").add_arguments(command)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:  # here, so that the usage that is told is the command's
        commands.choices[arguments.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    return arguments


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("expected a path, found an empty one: an unset variable of the shell?")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
