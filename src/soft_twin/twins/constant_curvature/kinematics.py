"""Constant-curvature kinematics of bodies of one or more segments, each with any number of cables.

Source: papers of the neck (equations 1 to 5) and of its real logs, whose motor targets follow straight cables. Here the
bending plane's azimuth is that of the bend in the base frame, cables are at (x, y) in the section, and "pulled in" is
positive: the paper's Δl = d α cos(β + γ) with γ measured the other way round.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from soft_twin.checks import checked_numbers, in_words
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.twins.constant_curvature import kernels
from soft_twin.twins.plate_model import PlateModel
from soft_twin.twins.plate_orientation import pitch_roll_of, refuse_no_orientation

TOLERANCE = 1e-14  # of the body's length, by which the last step towards bends changes displacements
EXPLAINED = 1e-10  # of it, to which displacements of the model's own are explained: then nobody looks further
DETERMINED = 1e-6  # of it, to which as many cables as there are unknowns are explained …
NOISE, NO_NOISE = 0.01, 0.1  # … and more of them, by which what is measured usually differs, and does at the most
STARTS = 256  # bends from which straight cables are explained, until they are


class ConstantCurvature(PlateModel):
    """Segments that bend in circular arcs of constant length and do not twist.

    Attributes:
        segment_lengths: (s,) [m].
        cable_positions: (c, 2) in the section [m].
        cable_ends: (c,) the segment, from 0, at whose end a cable is fixed.
    """

    knows_loads = False

    def __init__(
        self,
        segment_lengths: Sequence[float],
        cable_positions: Sequence[Sequence[float]],
        cable_ends: Sequence[int] | None = None,
        *,
        cables: Literal["arc", "chord"] = "arc",
        overhangs: tuple[float, float] = (0.0, 0.0),
    ):
        """A straight body along +z.

        Args:
            segment_lengths, cable_positions, cable_ends: see the attributes; without ends, at the end of the last one.
            cables: "arc" bend with the body, "chord" are straight from one end of a segment to the other.
            overhangs: how much longer a straight cable is than its segment, below and above it [m].

        Raises:
            InputError: wrong sizes, lengths that are not positive, or too few cables to tell the bends.
        """
        if cables not in ("arc", "chord"):
            raise InputError(f"cables: '{cables}' is neither 'arc' nor 'chord'")
        self.segment_lengths = _positive(segment_lengths)
        self.cable_positions = _places(cable_positions)
        self.cable_ends = _ends(cable_ends, len(self.cable_positions), len(self.segment_lengths))
        self._overhangs = np.tile(_overhangs(overhangs), (len(self.segment_lengths), 1))
        self._geometry = (
            cables == "chord",
            self.segment_lengths,
            self._overhangs,
            self.cable_positions,
            self.cable_ends,
        )
        self._one = (cables == "chord", float(self.segment_lengths[0]), *map(float, self._overhangs[0]))
        self._tightest = float(np.min(self.segment_lengths) / np.max(np.linalg.norm(self.cable_positions, axis=1)))
        self._harmless = min(self._tightest, np.pi / 2.0)
        self._common = self._sees_common_part()
        self._starts = _starts(len(self.segment_lengths), STARTS if cables == "chord" else 1)

    def displacements(self, pitch: float | np.ndarray, roll: float | np.ndarray) -> np.ndarray:
        """Cables pulled in so that the plate has this pitch and roll, of one segment: (c,), or (n, c) where one or both
        are arrays (n,).

        Args:
            pitch, roll: of `plate_orientation.py` [rad].

        Raises:
            InputError: no numbers, not finite, beyond ±π/2 and ±π, more bent than the body can be, arrays of two
                shapes, or several segments.
        """
        self._has_one_segment()
        if np.ndim(pitch) == np.ndim(roll) == 0:
            try:
                pitch, roll = float(pitch), float(roll)
            except (TypeError, ValueError) as error:
                words = f"pitch {in_words(pitch)}, roll {in_words(roll)}"
                raise InputError(f"{words}: expected numbers or arrays of one shape") from error
            if not abs(pitch) + abs(roll) < self._harmless:  # the tilt is at most this
                self._refuse_beyond(np.atleast_1d(pitch), np.atleast_1d(roll))
            return kernels.displacements_at_one(*self._one, self.cable_positions, pitch, roll)
        pitch, roll = (checked_numbers(each, "numbers", what) for each, what in ((pitch, "pitch"), (roll, "roll")))
        try:
            pitch, roll = (each.ravel() for each in np.broadcast_arrays(pitch, roll))
        except ValueError as error:
            raise InputError(
                f"pitch {pitch.shape} and roll {roll.shape}: expected numbers or arrays of one shape"
            ) from error
        self._refuse_beyond(pitch, roll)
        return kernels.displacements_at(*self._one, self.cable_positions, pitch, roll)

    def orientation(self, displacements: np.ndarray) -> tuple[float | np.ndarray, float | np.ndarray]:
        """Pitch and roll [rad] of the plate for displacements (c,) [m], or (n,) of each for (n, c), of one segment.

        A plate that is bent by more than ±π/2 of pitch has the pitch and roll of where its axis points. Two straight
        cables may be as long in two poses: it is one of them, see `bends_of`, which also says what is raised.
        """
        self._has_one_segment()
        bends, _ = self.bends_of(displacements)
        axes = self.poses(bends)[1][..., 0, :, 2]
        if axes.ndim == 1:
            return pitch_roll_of(axes)
        return np.arctan2(axes[..., 0], np.hypot(axes[..., 1], axes[..., 2])), np.arctan2(-axes[..., 1], axes[..., 2])

    def bear(self, gravity: np.ndarray, payload: float = 0.0) -> None:
        """Kinematics know no loads: nothing changes."""

    def displacements_of(self, bends: np.ndarray) -> np.ndarray:
        """(…, c) cables pulled in [m] for bends (…, s, 2): θ (cos φ, sin φ) of each segment [rad]."""
        bends = self._checked(bends, (len(self.segment_lengths), 2), "bends")
        flat = bends.reshape(-1, *bends.shape[-2:])
        return kernels.displacements_of(*self._geometry, flat).reshape(*bends.shape[:-2], len(self.cable_positions))

    def jacobian(self, bends: np.ndarray) -> np.ndarray:
        """(…, c, s, 2) derivatives [m/rad] of the displacements by bends (…, s, 2) [rad]."""
        bends = self._checked(bends, (len(self.segment_lengths), 2), "bends")
        flat = bends.reshape(-1, *bends.shape[-2:])
        found = kernels.jacobians_of(*self._geometry, flat)
        return found.reshape(*bends.shape[:-2], len(self.cable_positions), *bends.shape[-2:])

    def bends_of(self, displacements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bends (…, s, 2) [rad] that explain displacements (…, c) [m] in the least squares' sense.

        A part that all cables have in common says nothing of the bend (a body that is pressed together, winches that
        were not homed) and is found beside it where there are more cables than bends have components, else taken as 0.
        Straight cables may be as long with other bends: those that are found first are told, from a straight body on,
        then from bends of up to half a turn of each segment. Of more cables than that, whose lengths are measured and
        which no bends explain, those are told which miss least.

        Returns:
            The bends, and the common part (…) [m].

        Raises:
            InputError: wrong size or not finite.
            ConvergenceError: no bends were found, or they miss the displacements by more than a millionth of the body's
                length where there are no more cables than unknowns, and else by more than a tenth of it, or leave a
                cable that bends with the body no length along a segment, as displacements in millimetres do.
        """
        displacements = self._checked(displacements, (len(self.cable_positions),), "displacements")
        flat = displacements.reshape(-1, displacements.shape[-1])
        length = float(np.sum(self.segment_lengths))
        determined = len(self.cable_positions) <= 2 * len(self.segment_lengths) + self._common
        explained, noise = EXPLAINED * length, (EXPLAINED if determined else NOISE) * length
        bends, common, missed, found = kernels.fits(
            *self._geometry, self._common, flat, TOLERANCE * length, explained, noise, self._starts
        )
        bad = ~(found & (missed <= (DETERMINED if determined else NO_NOISE) * length))
        if bad.any():
            raise ConvergenceError(
                f"no constant curvature has the displacements {flat[bad][0].tolist()} m: those that were found miss "
                f"them by {1e3 * missed[bad][0]:.3g} mm"
            )
        self._refuse_inside_out(flat, bends)
        shape = displacements.shape[:-1]
        return bends.reshape(*shape, *bends.shape[1:]), common.reshape(shape)

    def poses(self, bends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the segments in the base frame for bends (…, s, 2) [rad].

        Returns:
            Positions (…, s, 3) [m]; rotations (…, s, 3, 3).
        """
        bends = self._checked(bends, (len(self.segment_lengths), 2), "bends")
        places, turns = kernels.poses(self.segment_lengths, bends.reshape(-1, *bends.shape[-2:]))
        return places.reshape(*bends.shape[:-1], 3), turns.reshape(*bends.shape[:-1], 3, 3)

    def _sees_common_part(self) -> bool:
        arcs = self.jacobian(np.zeros((len(self.segment_lengths), 2))).reshape(len(self.cable_positions), -1)
        scaled = arcs / np.max(np.abs(arcs))
        if np.linalg.matrix_rank(scaled, tol=1e-6) < scaled.shape[1]:
            raise InputError(
                f"{len(self.cable_positions)} cables at {self.cable_positions.tolist()} m do not tell the bends of "
                f"{len(self.segment_lengths)} segments: each needs two that are not in line with its axis"
            )
        with_common = np.column_stack([scaled, np.ones(len(scaled))])
        return bool(np.linalg.matrix_rank(with_common, tol=1e-6) == with_common.shape[1])

    def _has_one_segment(self) -> None:
        if len(self.segment_lengths) > 1:
            raise InputError(
                f"pitch and roll are those of one segment, this body has {len(self.segment_lengths)}: "
                "say the bends of each"
            )

    def _refuse_beyond(self, pitch: np.ndarray, roll: np.ndarray) -> None:
        """Refuse what is no orientation, or turns a cable's side inside out."""
        refuse_no_orientation(pitch, roll)
        bad = ~(np.arccos(np.cos(pitch) * np.cos(roll)) < self._tightest)
        if bad.any():
            raise InputError(
                f"pitch {pitch[bad][0]:g}, roll {roll[bad][0]:g} rad: expected a tilt below {self._tightest:g} rad, "
                "where the inner cable's side has no length left"
            )

    def _refuse_inside_out(self, displacements: np.ndarray, bends: np.ndarray) -> None:
        """Refuse bends (n, s, 2) with which a cable along an arc would have no length left along a segment."""
        if self._geometry[0]:
            return
        along = np.einsum("ck,nsk->ncs", self.cable_positions, bends)
        there = np.arange(len(self.segment_lengths)) <= self.cable_ends[:, None]
        bad = (there & (along >= self.segment_lengths)).any(axis=(1, 2))
        if bad.any():
            raise ConvergenceError(
                f"no constant curvature has the displacements {displacements[bad][0].tolist()} m: a cable would have "
                "no length left on the inside of the bend"
            )

    def _checked(self, values: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
        expected = f"an array of shape (…, {', '.join(map(str, shape))})"
        values = np.ascontiguousarray(checked_numbers(values, expected, what))
        if values.shape[-len(shape) :] != shape:
            raise InputError(f"{what}: expected {expected}, found {values.shape}")
        if not np.isfinite(values).all():
            raise InputError(f"{what}: {values[~np.isfinite(values)][0]} is not finite")
        return values


def _starts(segments: int, count: int) -> np.ndarray:
    """(count, 2 s) bends [rad]: straight, then anywhere up to half a turn of each segment, always the same."""
    rng = np.random.default_rng(0)
    angles = np.pi * np.sqrt(rng.uniform(size=(count, segments)))
    azimuths = rng.uniform(-np.pi, np.pi, (count, segments))
    angles[0] = 0.0
    return np.stack([angles * np.cos(azimuths), angles * np.sin(azimuths)], axis=-1).reshape(count, -1)


def _positive(lengths: Sequence[float]) -> np.ndarray:
    lengths = np.array(checked_numbers(lengths, "positive lengths", "segment_lengths"), order="C")
    if lengths.ndim != 1 or not len(lengths) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise InputError(f"segment_lengths: expected positive lengths, found {lengths.tolist()}")
    return lengths


def _places(places: Sequence[Sequence[float]]) -> np.ndarray:
    places = np.array(checked_numbers(places, "(x, y) of each cable", "cable_positions"), order="C")
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all() or not np.any(places):
        raise InputError(f"cable_positions: expected (x, y) of each cable, away from the axis, found {places.tolist()}")
    return places


def _ends(ends: Sequence[int] | None, count: int, segments: int) -> np.ndarray:
    if ends is None:
        return np.full(count, segments - 1)
    expected = f"{count} segments from 0 to {segments - 1}"
    ends = checked_numbers(ends, expected, "cable_ends")
    if ends.shape != (count,) or not np.isin(ends, np.arange(segments)).all():
        raise InputError(f"cable_ends: expected {expected}, found {ends.tolist()}")
    return ends.astype(np.int64)


def _overhangs(overhangs: tuple[float, float]) -> np.ndarray:
    overhangs = checked_numbers(overhangs, "two lengths", "overhangs")
    if overhangs.shape != (2,) or not (np.isfinite(overhangs) & (overhangs >= 0.0)).all():
        raise InputError(f"overhangs: expected two lengths that are not negative, found {overhangs.tolist()}")
    return overhangs
