"""The surface of a tube of two segments of constant curvature, each bent by three chambers, in closed form."""

import numpy as np

RADIUS, LENGTH = 0.02, 0.26
AROUND, HALF = 16, 13  # points of a ring, rings of a segment without its lowest
ANGLES = np.radians([0.0, 120.0, 240.0])
TIP = np.arange(AROUND * 2 * HALF, AROUND * (2 * HALF + 1))  # the last ring


def tube(gain=1.0):
    """Shares (n, 6), 0…1, → points (n, 16 · 27, 3) [m]; a full chamber bends its segment by 90° · gain away from it."""
    turn = np.linspace(0.0, 2.0 * np.pi, AROUND, endpoint=False)
    ring = RADIUS * np.column_stack([np.cos(turn), np.sin(turn), np.zeros(AROUND)])
    heights = 0.5 * LENGTH * np.arange(HALF + 1) / HALF

    def shapes(shares):
        away = -np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
        bends = 0.5 * np.pi * gain * np.asarray(shares).reshape(-1, 2, 3) @ away
        (x, r), (y, s) = (_segment(bends[:, i], heights) for i in range(2))
        y, s = x[:, -1:] + y @ r[:, -1].swapaxes(1, 2), r[:, -1:] @ s
        middles, turns = np.concatenate([x, y[:, 1:]], axis=1), np.concatenate([r, s[:, 1:]], axis=1)
        points = middles[:, :, None] + (turns[..., :2] @ ring[:, :2].T).swapaxes(2, 3)  # a ring lies in its plane
        return points.reshape(len(bends), -1, 3)

    return shapes


def _segment(bends, heights):
    """Places (n, h, 3) and rotations (n, h, 3, 3) at heights along a segment that bends by vectors (n, 2) [rad] in all,
    towards them."""
    angle = np.maximum(np.linalg.norm(bends, axis=1), 1e-9)
    c, d = (bends / angle[:, None]).T
    turned = angle[:, None] * heights / heights[-1]
    radius = (heights[-1] / angle)[:, None]
    across, up = radius * (1.0 - np.cos(turned)), radius * np.sin(turned)
    axis = np.zeros((len(bends), 1, 3, 3))
    axis[:, 0, 0, 2], axis[:, 0, 1, 2], axis[:, 0, 2, 0], axis[:, 0, 2, 1] = c, d, -c, -d
    sine, cosine = np.sin(turned)[..., None, None], np.cos(turned)[..., None, None]
    rotations = np.eye(3) + sine * axis + (1.0 - cosine) * axis @ axis
    return np.stack([c[:, None] * across, d[:, None] * across, up], axis=-1), rotations
