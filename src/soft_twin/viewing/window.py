"""What robots look like, in a browser: viser's server, which any browser on this machine can look at."""

import importlib.util
import socket
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from urllib.parse import quote

import numpy as np

from soft_twin.errors import UsageError
from soft_twin.files import one_line
from soft_twin.viewing.look import SILENT, Look

HOST = "127.0.0.1"
PORT = 8080
BODY, TARGET, PREDICTED = (242, 140, 89), (0, 140, 60), (25, 85, 180)  # red, green, blue
APART = 1.5  # times the largest robot's size: between robots, side by side
CELLS = 10  # of the ground, across a robot's size
BELOW = 1.05  # times its size: the ground below the base of a robot that may be turned
SMALLEST = 1e-3  # [m] size of a robot
NEAREST, FARTHEST = 0.01, 1000.0  # that a camera sees, of what it looks at
AS_IT_IS = np.array([1.0, 0.0, 0.0, 0.0])  # w, x, y, z
ALL = "all robots"  # no robot of a graph is called so: names in ROS have no spaces
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
        self._look_at = self.gui.add_button_group("look at", [ALL], visible=False)
        self._look_at.on_click(self._chosen)
        self._choices: dict[int, str] = {}  # of browsers that look at one robot, by their numbers
        self._told = self.gui.add_markdown("waiting for a robot")
        self.gui.add_markdown(f"*{LEGEND}*")
        self._robots: dict[str, _Robot] = {}
        self._size, self._turned = 0.0, False

    def show(self, looks: Mapping[str, Look]) -> None:
        """Show robots as they look, by their namespaces."""
        seen = {name: look for name, look in looks.items() if len(_points_of(look))}
        with self._server.atomic():
            self._stand(seen)
            for name, robot in self._robots.items():
                robot.show(seen.get(name), self._in_world.value)
        self._told.content = "\n\n".join(_in_words(name, look) for name, look in looks.items()) or "waiting for a robot"

    def close(self) -> None:
        """Nobody sees it any more."""
        with redirect_stdout(StringIO()):
            self._server.stop()

    def _stand(self, looks: Mapping[str, Look]) -> None:
        """New robots get their places, side by side; the ground and the cameras are as large as they need."""
        before, turned = list(self._robots.values()), self._turned
        for name, look in looks.items():
            robot, has_body = self._robots.get(name), len(_body_of(look)) > 0
            if robot is None or (has_body and not robot.has_body):
                if robot is not None:
                    robot.remove()
                self._robots[name] = _Robot(self._server, name, _reach(look), has_body)
        self._turned = turned or any(look.base is not None for look in looks.values())
        if list(self._robots.values()) == before and self._turned == turned:
            return
        self._size = max(robot.size for robot in self._robots.values())
        for number, robot in enumerate(self._robots.values()):
            robot.place(np.array([APART * self._size * number, 0.0, 0.0]))
        height = -BELOW * self._size if self._turned else 0.0
        middle = 0.5 * APART * self._size * (len(self._robots) - 1)
        self._server.scene.add_grid(
            "/ground",
            width=2.0 * self._size + 2.0 * middle,
            height=2.0 * self._size,
            cell_size=self._size / CELLS,
            section_size=self._size,
            position=(middle, 0.0, height),
        )
        self._look_at.options = (ALL, *(robot.called for robot in self._robots.values()))
        self._look_at.visible = len(self._robots) > 1
        self._aim(self._server.initial_camera, ALL)
        for number, client in self._server.get_clients().items():
            self._aim(client.camera, self._choices.get(number, ALL))

    def _chosen(self, event: Any) -> None:
        """A browser looks at a robot, or at all; the others look where they did."""
        self._choices[event.client_id] = event.target.value
        self._aim(event.client.camera, event.target.value)

    def _aim(self, camera: Any, at: str) -> None:
        """See all of a robot, by what it is called, or of all."""
        robots = list(self._robots.values())
        chosen = [robot for robot in robots if robot.called == at] or robots
        middle = np.mean([robot.position for robot in (chosen[0], chosen[-1])], axis=0)
        size = max(robot.size for robot in chosen)
        far = size + float(np.linalg.norm(chosen[-1].position - middle))
        camera.near, camera.far = NEAREST * far, FARTHEST * far
        camera.position = middle + far * np.array([1.2, -1.6, 0.9])
        camera.look_at = middle + [0.0, 0.0, 0.0 if self._turned else 0.4 * size]


class _Robot:
    """What is drawn of a robot.

    Attributes:
        called: its name, in a line.
        position: (3,) where its base is [m].
        size: how far it goes from its base [m].
        has_body: whether that is the size of a body; of a tip alone otherwise.
    """

    def __init__(self, server: Any, name: str, size: float, has_body: bool):
        self.size, self.has_body = size, has_body
        self._scene, self.called, self.position = server.scene, one_line(name), np.zeros(3)
        self._root = f"/{quote(name, safe='')}"  # robot a/b is not fixed to robot a
        self._base = self._scene.add_frame(self._root, axes_length=0.15 * size, axes_radius=0.004 * size)
        self._corners, self._first = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        self._drawn: dict[str, Any] = {}  # by what it is
        self._points: dict[str, np.ndarray] = {}  # of surfaces that are drawn
        self._label = self._scene.add_label(f"{self._root}/name", self.called, position=(0.0, 0.0, -0.1 * size))

    def place(self, position: np.ndarray) -> None:
        """Where its base is [m]."""
        self.position = self._base.position = position

    def remove(self) -> None:
        """It is drawn no more."""
        self._base.remove()

    def show(self, look: Look | None, in_world: bool) -> None:
        """Draw it anew, `in_world` turned as its IMU says; nothing of what is not known, of None nothing at all."""
        self._base.visible = look is not None
        if look is None:
            return
        self._base.wxyz = look.base if in_world and look.base is not None else AS_IT_IS
        self._label.text = ", ".join([self.called, *_silence(look)])
        shown = {*self._show_poses(look), *self._show_lines(look), *self._show_surfaces(look)}
        if look.body is not None and len(look.body):
            self._show_body(look.body)
            shown.add("body")
        for name, handle in self._drawn.items():
            handle.visible = name in shown

    def _show_body(self, corners: np.ndarray) -> None:
        """Corners that are in one place are one, so that the surface is smooth, as long as they go together."""
        if len(corners) == len(self._corners) and np.array_equal(corners[self._first][self._corners], corners):
            self._drawn["body"].vertices = corners[self._first]
            return
        _, self._first, corner = np.unique(corners, axis=0, return_index=True, return_inverse=True)
        self._corners = corner.ravel()
        self._drawn["body"] = self._scene.add_mesh_simple(
            f"{self._root}/body", corners[self._first], self._corners.reshape(-1, 3), color=BODY, side="double"
        )

    def _show_lines(self, look: Look) -> list[str]:
        known = {f"lines/{quote(name, safe='')}": lines for name, lines in look.lines.items() if len(lines.segments)}
        for name, lines in known.items():
            handle = self._drawn.get(name)
            if handle is None or handle.points.shape != lines.segments.shape:
                self._drawn[name] = self._scene.add_line_segments(
                    f"{self._root}/{name}", lines.segments, lines.colours, thickness=0.006 * self.size
                )
            else:
                handle.points, handle.colors = lines.segments.astype(np.float32), lines.colours
        return list(known)

    def _show_surfaces(self, look: Look) -> list[str]:
        colours = {"predicted": PREDICTED, "target": TARGET}
        known = {f"{name}_surface": (points, colours[name]) for name, points in look.surfaces.items() if len(points)}
        for name, (points, colour) in known.items():
            if self._points.get(name) is not points:
                self._points[name] = points
                self._drawn[name] = self._scene.add_point_cloud(
                    f"{self._root}/{name}", points, colour, point_size=0.006 * self.size, precision="float32"
                )
        return list(known)

    def _show_poses(self, look: Look) -> list[str]:
        poses = {"twin's tip": look.tip, "true tip": look.true_tip, "target": look.target}
        known = {name: pose for name, pose in poses.items() if pose is not None and pose.known}
        for name, pose in known.items():
            if name not in self._drawn:
                self._drawn[name] = self._new_pose(name)
            self._drawn[name].position, self._drawn[name].wxyz = pose.position, pose.wxyz
        return list(known)

    def _new_pose(self, name: str) -> Any:
        path, size = f"{self._root}/{name}", self.size
        if name == "target":
            return self._scene.add_icosphere(path, radius=0.03 * size, color=TARGET, opacity=0.5)
        length, radius = (0.12, 0.006) if name == "twin's tip" else (0.2, 0.003)
        return self._scene.add_frame(path, axes_length=length * size, axes_radius=radius * size)


def _body_of(look: Look) -> np.ndarray:
    """(k, 3) all that is drawn of a body [m]."""
    found = [one.segments.reshape(-1, 3) for one in look.lines.values()]
    return np.concatenate([np.zeros((0, 3)) if look.body is None else look.body, *found])


def _points_of(look: Look) -> np.ndarray:
    """(k, 3) all that is drawn of a body [m]; of one that is not known, its tip."""
    body = _body_of(look)
    return body if len(body) or look.tip is None or not look.tip.known else look.tip.position[None]


def _reach(look: Look) -> float:
    """How far it goes from its base [m]."""
    return max(float(np.linalg.norm(_points_of(look), axis=1).max()), SMALLEST)


def _silence(look: Look) -> list[str]:
    """That it is silent, where it is."""
    return [f"silent for {look.silent:.0f} s"] if SILENT < look.silent < np.inf else []


def _plain(text: str) -> str:
    """Text that is neither markdown nor HTML, whatever is in it: the page would run scripts of recordings."""
    return "".join(c if c.isalnum() or c in " .,…" else f"&#{ord(c)};" for c in one_line(text))


def _in_words(name: str, look: Look) -> str:
    told = dict(look.told)
    if np.isfinite(look.error):
        told["tip from its target"] = f"{1e3 * look.error:.2f} mm"
    lines = [*_silence(look), *(f"{what}: {_plain(text)}" for what, said in told.items() if (text := str(said)))]
    return "\n".join([f"**{_plain(name)}**", *(f"- {line}" for line in lines)])


def check_viewable(port: int) -> None:
    """See that viser is there and the port is free: viser would take the next one.

    Raises:
        UsageError: it is not.
    """
    if importlib.util.find_spec("viser") is None:
        raise UsageError("a view in the browser needs viser: pip install 'viser>=1'")
    if port == 0:
        raise UsageError("--port 0: a port that the system chooses is not told to browsers: choose another")
    try:
        with socket.create_server((HOST, port)):
            pass
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: {error}: choose another") from error
