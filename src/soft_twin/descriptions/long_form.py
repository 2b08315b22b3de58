"""A cable tube's description written out: the same robot as a body of finite elements."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soft_twin.descriptions.cable_tube import Cable, CableTube, MeshChoice, Tube

EMULATED_MESH = "plant"  # of the meshes, that of the emulated robot


def long_form(tube: "CableTube") -> dict[str, Any]:
    """What a file of kind `fem` has for the same robot."""
    body, cables = tube.body, tube.cables
    own = {"mesh": mesh_source(body, body.meshes[EMULATED_MESH])} if EMULATED_MESH in body.meshes else {}
    winches = {key: value for key, value in tube.winches if value is not None}
    return {
        "name": tube.name,
        "kind": "fem",
        "body": {
            "mesh": mesh_source(body, body.meshes[body.mesh]),
            "materials": [dict(body.material)],
            "damping": dict(body.damping),
            "clamped": "base",
        },
        "cables": [_cable(tube, cable) for cable in cables.list],
        "winches": {**winches, "rate": cables.rate, "acceleration": cables.acceleration},
        "imus": [{"name": "base", "mounting_rpy_deg": list(tube.imu.mounting_rpy_deg)}],
        **_obstacles(tube),
        "frames": {"tip": {"section": body.length}},
        "target": {"tip": list(tube.target.tip or (0.0, 0.0, body.length))},
        "posture": "arc",
        "emulated": {**dict(tube.emulated), **own},
    }


def _obstacles(tube: "CableTube") -> dict[str, Any]:
    """The same ones, if there are any."""
    found = [each.model_dump(mode="json", exclude_defaults=True) for each in tube.obstacles]
    return {"obstacles": found} if found else {}


def mesh_source(body: "Tube", choice: "MeshChoice") -> dict[str, Any]:
    """Where a mesh of the tube comes from: its file if it has one, else as it is made."""
    if choice.file is None:
        return made_mesh(body, choice)
    size = [body.outer_diameter, body.outer_diameter, body.length]
    return {"file": choice.file, "size": size, "element": choice.element}


def made_mesh(body: "Tube", choice: "MeshChoice") -> dict[str, Any]:
    """How a mesh of the tube is made, by sweeping if it has divisions, else by Gmsh."""
    diameters = {"inner_diameter": body.lumen_diameter, "outer_diameter": body.outer_diameter}
    if choice.divisions is None:
        return {"tube": {**diameters, "length": body.length, "cell": choice.size, "element": choice.element}}
    radial, around, along = choice.divisions
    ring = {"name": "tube", **diameters, "divisions": radial}
    layers = [
        {"length": length, "divisions": cells, "grading": choice.grading if i == 0 else 1.0, "rings": [ring]}
        for i, (length, cells) in enumerate(zip(body.segment_lengths, _cells(body, along), strict=True))
    ]
    turn = {"turn_deg": choice.turn_deg} if choice.turn_deg else {}
    return {"stack": {"around": around, "element": choice.element, "layers": layers, **turn}}


def _cells(body: "Tube", along: int) -> list[int]:
    """How many of the cells along each segment has."""
    lengths = body.segment_lengths
    ends = [round(along * sum(lengths[:i]) / body.length) for i in range(len(lengths) + 1)]
    return [end - start for start, end in zip(ends, ends[1:], strict=False)]


def _cable(tube: "CableTube", cable: "Cable") -> dict[str, Any]:
    """A cable of the wall, parallel to the axis."""
    cables, angle = tube.cables, math.radians(cable.angle_deg)
    x, y = cables.radius * math.cos(angle), cables.radius * math.sin(angle)
    drive = cable.model_dump(include={"motor_id", "direction", "scale", "offset"}, exclude_defaults=True)
    return {
        "name": cable.name,
        "start": [x, y, 0.0],
        "end": [x, y, sum(tube.body.segment_lengths[: cable.segment])],
        **({"cap": True} if cables.caps else {}),
        "tension": list(cables.tension),
        "displacement": list(cables.displacement),
        "stiffness": cables.stiffness,
        "pretension": cables.pretension,
        **drive,
    }
