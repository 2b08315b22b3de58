"""The commands of `soft-twin`, one module each.

A command's module has `add_arguments(parser)` and `run(arguments) -> int` (the exit
status). Its name in COMMANDS is what a user types; modules are imported only when their command is called.
"""

COMMANDS = {
    "bench": "measure speed and scale; prints a table and one JSON line",
    "calibrate": "E and damping of a robot's twin from a recorded release, by gradients and by the paper's grid",
    "compile": "compile the robots' kernels, which stay compiled; `make` does it",
    "describe": "what a robot's description makes; --long writes a short one out, the start of one's own",
    "diff": "what differs between two recordings",
    "emulate": "run one emulated device, with faults on purpose, for tests of drivers",
    "estimate": "orientation from a recording of an IMU, by the filter of the nodes",
    "experiment": "do a paper's experiment again; prints a table and draws pictures",
    "mesh": "make the files of a robot's meshes, or check one",
    "replay": "run the library over a recording, without middleware",
    "report": "make the report of a recorded run anew",
    "run": "run a robot's whole loop on emulated hardware and report",
    "schema": "the JSON schema of robots' descriptions, for editors",
    "train": "learn a robot's surface from simulations, and its warp to reality from scans",
    "urdf": "a robot's URDF, made from its description",
    "validate": "check the twin against closed forms and recordings; prints a table and draws pictures",
    "view": "robots in a browser: a recording, or what runs now",
}
