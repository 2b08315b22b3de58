"""A tensegrity as markers: struts as thick lines, members coloured by tension, slack ones dashed."""

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from soft_twin_ros.conversions import header, to_point

STRUT_WIDTH, MEMBER_WIDTH = 0.008, 0.003  # [m]
STRUT_COLOUR = (0.25, 0.25, 0.28)
SLACK_COLOUR = (0.6, 0.6, 0.6)
STALE_OPACITY = 0.3
DASHES = 4  # of a slack member
COLOURS = np.array([[0.15, 0.35, 0.85], [0.95, 0.85, 0.25], [0.85, 0.15, 0.15]])  # no tension, half, the highest


def tensegrity_markers(
    seconds: float,
    frame: str,
    nodes: np.ndarray,
    members: np.ndarray,
    tensions: np.ndarray,
    highest: float,
    stale: bool,
) -> MarkerArray:
    """Markers of a shape.

    Args:
        nodes: (2 s, 3) bottoms, then tops [m].
        members: (m, 2) node indices.
        tensions: (m,) [N]; 0 is slack.
        highest: tension of the last colour [N].
        stale: draw it faintly, it is an old shape.
    """
    opacity = STALE_OPACITY if stale else 1.0
    count = len(nodes) // 2
    struts = np.stack([nodes[:count], nodes[count:]], axis=1)
    taut = tensions > 0.0
    pulling, slack = nodes[members[taut]], nodes[members[~taut]]
    return MarkerArray(
        markers=[
            _lines(seconds, frame, "struts", struts, np.tile(STRUT_COLOUR, (count, 1)), STRUT_WIDTH, opacity),
            _lines(seconds, frame, "taut", pulling, colours(tensions[taut], highest), MEMBER_WIDTH, opacity),
            _lines(
                seconds, frame, "slack", dashed(slack), np.tile(SLACK_COLOUR, (DASHES * len(slack), 1)),
                MEMBER_WIDTH, opacity,
            ),
        ]
    )  # fmt: skip


def colours(tensions: np.ndarray, highest: float) -> np.ndarray:
    """(k, 3) red, green, blue of tensions (k,), from blue (none) over yellow to red (highest and above)."""
    share = np.clip(tensions / max(highest, 1e-9), 0.0, 1.0)
    return np.column_stack([np.interp(share, [0.0, 0.5, 1.0], channel) for channel in COLOURS.T])


def dashed(segments: np.ndarray) -> np.ndarray:
    """Each segment (k, 2, 3) as DASHES shorter ones with gaps between: (DASHES k, 2, 3)."""
    places = np.arange(2 * DASHES).reshape(DASHES, 2) / (2 * DASHES - 1)
    along = segments[:, 1] - segments[:, 0]
    return (segments[:, None, :1] + places[None, :, :, None] * along[:, None, None]).reshape(-1, 2, 3)


def _lines(seconds, frame, name: str, segments: np.ndarray, rgb: np.ndarray, width: float, opacity: float) -> Marker:
    marker = Marker(header=header(seconds, frame), ns=name, type=Marker.LINE_LIST, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    marker.scale.x = width
    marker.points = [to_point(end) for end in segments.reshape(-1, 3)]
    marker.colors = [ColorRGBA(r=float(r), g=float(g), b=float(b), a=opacity) for r, g, b in np.repeat(rgb, 2, axis=0)]
    if not len(segments):
        marker.points = [Point(), Point()]  # an empty list is an error to RViz; a line of no length is not seen
        marker.colors = [ColorRGBA(a=0.0)] * 2
    return marker
