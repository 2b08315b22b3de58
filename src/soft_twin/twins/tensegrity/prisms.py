"""Generator of stacked prisms: towers of modules with n struts each, of alternating twist, such as TM40's five of four.

Module i has struts i·n … i·n + n − 1 and the twist s(i) = (−1)^i. b and t are a strut's bottom and top, j is taken
modulo n:

* cords "base_square" b₀ⱼ–b₀,ⱼ₊₁ and "top_square" tₗⱼ–tₗ,ⱼ₊₁ (l is the last module);
* cords "octagon_i" bᵢⱼ–tᵢ₋₁,ⱼ and bᵢⱼ–tᵢ₋₁,ⱼ₋ₛ₍ᵢ₎ where module i sits on i − 1;
* cylinders "module_i" tᵢⱼ–bᵢ,ⱼ₊ₛ₍ᵢ₎ inside each module;
* cylinders "joint_i" b₀ⱼ–b₁,ⱼ₋₂ (i = 0), tᵢ₋₁,ⱼ–bᵢ₊₁,ⱼ₊ₛ₍ᵢ₋₁₎, and tₗ₋₁,ⱼ–tₗ,ⱼ₊ₛ₍ₗ₋₁₎ (i = l) from module to module.

Every node is held by two cords and two cylinders.
"""

from collections.abc import Iterator

import numpy as np

NO_MODULE = "stacked prisms need at least 2 modules of at least 3 struts"


def connect(modules: int, sides: int) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """Members (m, 2), their groups (m,) and whether they are cylinders (m,), cords first."""
    struts = modules * sides
    cords = list(_cords(modules, sides))
    cylinders = list(_cylinders(modules, sides))
    rows = [(_node(a, sides, struts), _node(c, sides, struts), group) for group, a, c in cords + cylinders]
    members = np.array([row[:2] for row in rows])
    return members, tuple(row[2] for row in rows), np.arange(len(rows)) >= len(cords)


def upright(strut_lengths: np.ndarray, sides: int, radius: float, inclination: float) -> tuple[np.ndarray, np.ndarray]:
    """A tower near its straight shape: bottoms (s, 3) [m] and directions (s, 3) of the struts.

    The tops of a module are turned by 3π/4 of a prism's side angle sum against its bottoms (π/2 + π/n, the twist
    at which a prism of n struts is in equilibrium); the next module's bottoms sit half a side further.

    Args:
        strut_lengths: (modules,) [m].
        radius: of the base's polygon [m].
        inclination: of every strut [rad].
    """
    side = 2.0 * np.pi / sides
    start, height = 0.0, 0.0
    bottoms, directions = [], []
    for i, length in enumerate(strut_lengths):
        twist = twist_of(i) * (side + np.pi / 2.0 - np.pi / sides)
        for j in range(sides):
            bottom = radius * _circle(start + j * side)
            across = radius * _circle(start + j * side + twist) - bottom
            across *= np.sin(inclination) / np.linalg.norm(across)
            bottoms.append([*bottom, height])
            directions.append([*across, np.cos(inclination)])
        height += 0.85 * length * np.cos(inclination)
        start += twist + twist_of(i) * side / 2.0
    return np.array(bottoms), np.array(directions)


def twist_of(module: int) -> int:
    """s(i): +1 for even modules, −1 for odd ones."""
    return 1 - 2 * (module % 2)


def _circle(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def _node(place: tuple[str, int, int], sides: int, struts: int) -> int:
    end, module, j = place
    return module * sides + j % sides + (struts if end == "t" else 0)


def _cords(modules: int, sides: int) -> Iterator[tuple]:
    for j in range(sides):
        yield "base_square", ("b", 0, j), ("b", 0, j + 1)
    for i in range(1, modules):
        for j in range(sides):
            yield f"octagon_{i}", ("b", i, j), ("t", i - 1, j)
            yield f"octagon_{i}", ("b", i, j), ("t", i - 1, j - twist_of(i))
    for j in range(sides):
        yield "top_square", ("t", modules - 1, j), ("t", modules - 1, j + 1)


def _cylinders(modules: int, sides: int) -> Iterator[tuple]:
    last = modules - 1
    for i in range(modules):
        for j in range(sides):
            yield f"module_{i}", ("t", i, j), ("b", i, j + twist_of(i))
    for j in range(sides):
        yield "joint_0", ("b", 0, j), ("b", 1, j - 2)
    for i in range(1, last):
        for j in range(sides):
            yield f"joint_{i}", ("t", i - 1, j), ("b", i + 1, j + twist_of(i - 1))
    for j in range(sides):
        yield f"joint_{last}", ("t", last - 1, j), ("t", last, j + twist_of(last - 1))
