"""What robots look like, in a browser: viser's server, which any browser on this machine can look at."""

import importlib.util
import socket
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.viewing.look import Look, Pose

HOST = "127.0.0.1"
PORT = 8080
BODY, TARGET, PREDICTED = (242, 140, 89), (0, 140, 60), (25, 85, 180)  # red, green, blue
APART = 1.5  # times the largest robot's size: between robots, side by side
CELLS = 10  # of the ground, across a robot's size
BELOW = 1.05  # times its size: the ground below the base of a robot that may be turned
AS_IT_IS = np.array([1.0, 0.0, 0.0, 0.0])  # w, x, y, z
LEGEND = "short, thick axes: the twin's tip; long, thin ones: the true tip; green: the target; blue: what is predicted"


class Window:
    """A page that shows robots side by side, and a column of what they say.

    Args:
        port: of http://127.0.0.1.
        title: of the page.

    Attributes:
        address: where it is seen.
        gui: viser's, for what else shall be seen or moved in the column.

    Raises:
        UsageError: viser is missing, or the port is taken.
    """

    def __init__(self, port: int = PORT, title: str = "soft_twin"):
        check_viewable(port)
        import viser

        with redirect_stdout(StringIO()):  # it tells its address, in a box
            self._server = viser.ViserServer(host=HOST, port=port, label=title, verbose=False)
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._server.scene.set_up_direction("+z")
        self.address, self.gui = f"http://{HOST}:{port}", self._server.gui
        self._in_world = self.gui.add_checkbox("turned as in the world", True)
        self._told = self.gui.add_markdown("waiting for a robot")
        self.gui.add_markdown(f"*{LEGEND}*")
        self._robots: dict[str, _Robot] = {}
        self._size = 0.0

    def show(self, looks: Mapping[str, Look]) -> None:
        """Show robots as they look, by their namespaces."""
        seen = {name: look for name, look in looks.items() if _points_of(look) is not None}
        self._stand(seen)
        with self._server.atomic():
            for name, look in seen.items():
                self._robots[name].show(look, AS_IT_IS if look.base is None or not self._in_world.value else look.base)
        self._told.content = "\n\n".join(_in_words(name, look) for name, look in looks.items()) or "waiting for a robot"

    def close(self) -> None:
        """Nobody sees it any more."""
        self._server.stop()

    def _stand(self, looks: Mapping[str, Look]) -> None:
        """New robots get their places, side by side; the ground and the camera are as large as they need."""
        new = [name for name in looks if name not in self._robots]
        if not new:
            return
        self._size = max(self._size, *(_reach(looks[name]) for name in new))
        for name in new:
            self._robots[name] = _Robot(self._server, name, self._size)
        for number, robot in enumerate(self._robots.values()):
            robot.place(np.array([APART * self._size * number, 0.0, 0.0]))
        height = -BELOW * self._size if any(look.base is not None for look in looks.values()) else 0.0
        middle = 0.5 * APART * self._size * (len(self._robots) - 1)
        self._server.scene.add_grid(
            "/ground",
            width=2.0 * self._size + 2.0 * middle,
            height=2.0 * self._size,
            cell_size=self._size / CELLS,
            section_size=self._size,
            position=(middle, 0.0, height),
        )
        far = self._size + middle
        camera = self._server.initial_camera
        camera.position = (middle + 1.2 * far, -1.6 * far, 0.9 * far)
        camera.look_at = (middle, 0.0, 0.4 * self._size if height == 0.0 else 0.0)


class _Robot:
    """What is drawn of a robot."""

    def __init__(self, server: Any, name: str, size: float):
        self._scene, self._root, self._size = server.scene, f"/{name}", size
        self._base = self._scene.add_frame(self._root, axes_length=0.15 * size, axes_radius=0.004 * size)
        self._body, self._corners, self._first = None, np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        self._drawn: dict[str, Any] = {}
        self._scene.add_label(f"{self._root}/name", name, position=(0.0, 0.0, -0.1 * size))

    def place(self, position: np.ndarray) -> None:
        """Where its base is [m]."""
        self._base.position = position

    def show(self, look: Look, base: np.ndarray) -> None:
        """Draw it anew."""
        self._base.wxyz = base
        if look.body is not None and len(look.body):
            self._show_body(look.body)
        for name, lines in look.lines.items():
            handle = self._drawn.get(name)
            if handle is None or handle.points.shape != lines.segments.shape:
                self._drawn[name] = self._scene.add_line_segments(
                    f"{self._root}/{name}", lines.segments, lines.colours, thickness=0.006 * self._size
                )
            else:
                handle.points, handle.colors = lines.segments.astype(np.float32), lines.colours
        self._show_tips(look)
        for name, colour in (("predicted", PREDICTED), ("target", TARGET)):
            if (points := look.surfaces.get(name)) is not None:
                self._scene.add_point_cloud(
                    f"{self._root}/{name}_surface", points, colour, point_size=0.006 * self._size, precision="float32"
                )

    def _show_body(self, corners: np.ndarray) -> None:
        """Corners that are in one place are one, so that the surface is smooth; they stay the same all the time."""
        if len(corners) != len(self._corners):
            _, self._first, corner = np.unique(corners, axis=0, return_index=True, return_inverse=True)
            self._corners = corner.ravel()
            triangles = self._corners.reshape(-1, 3)
            self._body = self._scene.add_mesh_simple(
                f"{self._root}/body", corners[self._first], triangles, color=BODY, side="double"
            )
            return
        self._body.vertices = corners[self._first]

    def _show_tips(self, look: Look) -> None:
        size = self._size
        self._frame("twin's tip", look.tip, axes_length=0.12 * size, axes_radius=0.006 * size)
        self._frame("true tip", look.true_tip, axes_length=0.2 * size, axes_radius=0.003 * size)
        if look.target is not None:
            handle = self._drawn.get("target")
            if handle is None:
                handle = self._drawn["target"] = self._scene.add_icosphere(
                    f"{self._root}/target", radius=0.03 * size, color=TARGET, opacity=0.5
                )
            handle.position, handle.wxyz = look.target.position, look.target.wxyz

    def _frame(self, name: str, pose: Pose | None, **axes: float) -> None:
        if pose is None or not np.isfinite(pose.position).all():
            return
        if name not in self._drawn:
            self._drawn[name] = self._scene.add_frame(f"{self._root}/{name}", **axes)
        self._drawn[name].position, self._drawn[name].wxyz = pose.position, pose.wxyz


def _points_of(look: Look) -> np.ndarray | None:
    """All that is drawn of a body; None: nothing yet."""
    found = [one.segments.reshape(-1, 3) for one in look.lines.values()]
    found += [look.body] if look.body is not None and len(look.body) else []
    return np.concatenate(found) if found else None


def _reach(look: Look) -> float:
    """How far a body goes from its base [m]."""
    return float(np.linalg.norm(_points_of(look), axis=1).max())


def _in_words(name: str, look: Look) -> str:
    told = dict(look.told)
    if np.isfinite(look.error):
        told["tip from its target"] = f"{1e3 * look.error:.2f} mm"
    return "\n".join([f"**{name}**", *(f"- {what}: {text}" for what, text in told.items() if text)])


def check_viewable(port: int) -> None:
    """See that viser is there and the port is free: viser would take the next one.

    Raises:
        UsageError: it is not.
    """
    if importlib.util.find_spec("viser") is None:
        raise UsageError("a view in the browser needs viser: pip install 'soft_twin[view]'")
    try:
        with socket.create_server((HOST, port)):
            pass
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: {error}: choose another") from error
