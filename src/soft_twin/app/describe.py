"""`soft-twin describe ROBOT`: what a description makes; `--long`: a short one written out, the start of one's own."""

import argparse
from collections.abc import Iterator

import yaml

from soft_twin.errors import UsageError
from soft_twin.robots import load_robot
from soft_twin.robots.base import DrivenRobot
from soft_twin.robots.cable_tube import CableTube

LONGEST_LINE = 120
DIGITS = 12  # behind the point: picometres


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot in config/, or path of a description")
    parser.add_argument("--long", action="store_true", help="instead, a cable_tube written out as the kind 'fem' it is")


def run(arguments: argparse.Namespace) -> int:
    robot = load_robot(arguments.robot)
    if arguments.long:
        print(_long(robot), end="")
        return 0
    if not isinstance(robot, DrivenRobot):
        raise UsageError(f"robot '{robot.name}' has no body of finite elements to describe")
    for line in _lines(robot):
        print(line)
    return 0


def _long(robot) -> str:
    """A description of kind `fem`, as YAML."""
    if not isinstance(robot, CableTube):
        raise UsageError(f"robot '{robot.name}' is no cable_tube: {robot.path} says all of it")
    from soft_twin.descriptions.long_form import long_form

    content = {"robot": long_form(robot.tube), "nodes": robot.nodes}
    return yaml.dump(content, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=LONGEST_LINE)


class _Plain(yaml.SafeDumper):
    """Without aliases and rounding errors; lists of numbers in one line."""

    def ignore_aliases(self, data) -> bool:
        return True

    def represent_sequence(self, tag, sequence, flow_style=None):
        plain = not any(isinstance(item, (dict, list, tuple)) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=plain)

    def represent_float(self, data):
        return super().represent_float(round(data, DIGITS) + 0.0)


_Plain.add_representer(float, _Plain.represent_float)


def _lines(robot: DrivenRobot) -> Iterator[str]:
    """Mesh, its names, mass, what moves the body, its frames and what drives it."""
    model, own = robot.build_model(), robot.build_emulated_model()
    mesh, size = model.body.mesh, model.unknowns.size
    x, y, z = 1e3 * mesh.size
    yield f"mesh       {len(mesh.cells)} {mesh.element.name} cells, {x:g} x {y:g} x {z:g} mm, {size} unknowns"
    for kind in ("surfaces", "volumes", "groups"):
        yield f"{kind:<11}{', '.join(name for name, own in getattr(mesh, kind).items() if len(own)) or 'none'}"
    yield f"mass       {1e3 * model.body.mass:.4g} g"
    yield f"actuators  {', '.join(robot.actuator_names)}"
    yield f"frames     {', '.join(robot.build_frames(model.body))}"
    cells, step = len(own.body.mesh.cells), 1e3 * robot.emulated.step
    yield f"emulated   {cells} cells, {own.unknowns.size} unknowns, {step:g} ms a step"
