"""An orientation filter behind the check of its samples, and watched by what both sensors say: is it to be believed?"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.sensing.agreement import Agreement, AgreementParameters
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.ekf import lost_turn
from soft_twin.sensing.hypotheses import Hypotheses, HypothesesParameters
from soft_twin.sensing.orientation import OrientationFilter
from soft_twin.sensing.rotations import rotation_matrix
from soft_twin.sensing.sample_check import SampleCheck, SampleCheckParameters, Trust, Verdict
from soft_twin.sensing.samples import ImuSample


@dataclass(frozen=True)
class WatchParameters:
    """Settings of the parts, and limits of what is believed.

    Attributes:
        check, agreement, hypotheses: see there.
        tilt_limit: standard deviation of the tilt above which the answer is not valid [rad].
        consistency_limit: normalised innovation squared above which rates and forces contradict each other.
    """

    check: SampleCheckParameters = field(default_factory=SampleCheckParameters)
    agreement: AgreementParameters = field(default_factory=AgreementParameters)
    hypotheses: HypothesesParameters = field(default_factory=HypothesesParameters)
    tilt_limit: float = math.radians(10.0)
    consistency_limit: float = 50.0


class WatchedOrientation:
    """Samples in; an orientation out, whether it may be acted on, and what is wrong, in words.

    Args:
        orientation: the filter, without samples yet.
        parameters: settings.
        calibration: of the board.

    Attributes:
        filter: the orientation filter.
        started: whether there was a usable sample.
        valid: whether the answer may be acted on.
        agreed: whether the agreement of both sensors alone says so.
        far: the probability that the answer is far off, by the hypotheses alone.
        settled: whether everything but these two says so.
        faults: what is wrong with the last sample, or with the answer.
    """

    def __init__(
        self,
        orientation: OrientationFilter,
        parameters: WatchParameters | None = None,
        calibration: ImuCalibration | None = None,
    ):
        self.parameters = parameters or WatchParameters()
        self.filter = orientation
        self._calibration = calibration or ImuCalibration()
        self._check = SampleCheck(self.parameters.check)
        self._agreement = Agreement(self.parameters.agreement)
        self._hypotheses = Hypotheses(self.parameters.hypotheses)
        self._first_time = self._last_used = math.nan
        self._known = False
        self.started = self.valid = self.agreed = self.settled = False
        self.far = 0.0
        self.faults: tuple[str, ...] = ()

    def update(self, sample: ImuSample, uncertainty: float = 1.0) -> Verdict:
        """Take in the next sample; what the check made of it, calibrated. Never raises for what a sensor may say.

        Args:
            sample: as the board says it.
            uncertainty: factor on the filter's standard deviation.
        """
        verdict = self._check.judge(sample)
        usable = verdict.trust is not Trust.BAD
        if usable:
            verdict = replace(verdict, sample=self._calibration.apply(verdict.sample))
            self._filter_sample(verdict.sample, verdict)
        self._judge(sample.time, usable, verdict.faults, uncertainty)
        return verdict

    def _filter_sample(self, sample: ImuSample, verdict: Verdict) -> None:
        if verdict.trust is Trust.LOST:
            self.filter.relevel(lost_turn(verdict.lost_time))
        self.filter.update(sample)
        if verdict.trust is Trust.FORCE_UNKNOWN:
            self.filter.disturb(verdict.doubt, forget_velocity=True)
        elif verdict.doubt > 0.0:
            self.filter.disturb(verdict.doubt, forget_velocity=False)
        if not self.started:
            self._first_time = sample.time
        self.started = True
        self._compare(sample, verdict)

    def _compare(self, sample: ImuSample, verdict: Verdict) -> None:
        """Ask both sensors whether the answer may be acted on; where it is lost, find the tilt anew."""
        dt, self._last_used = sample.time - self._last_used, sample.time
        if verdict.trust is Trust.LOST:
            self._agreement.withdraw()
            self._hypotheses.lose_tilt(verdict.lost_time)
            self.agreed = False
            return
        up = rotation_matrix(self.filter.quaternion_wxyz)[2]
        bias = self.filter.gyroscope_bias
        if not (math.isfinite(up[2]) and dt > 0.0):
            return
        rates = sample.angular_velocity - np.clip(bias, -_MOST_BIAS, _MOST_BIAS)
        force, doubt = sample.specific_force, verdict.doubt
        if verdict.trust is Trust.FORCE_UNKNOWN:  # it says nothing, and for a while nothing is missed
            force, doubt = STANDARD_GRAVITY * up, doubt + _BLIND_RATE * dt
        self.far = self._hypotheses.update(dt, rates, force, up, doubt)
        std = self._tilt_std() if self.filter.covariance_is_learnt else math.inf
        self.agreed = self._agreement.update(dt, rates, force, up, std, doubt)
        if self._agreement.lost:
            self._hypotheses.lose_tilt(0.0)
            self.filter.relevel(lost_turn(math.inf))
            self.filter.update(replace(sample, specific_force=self._agreement.found_anew()))

    def _tilt_std(self) -> float:
        covariance = self.filter.covariance
        return math.sqrt(max(covariance[0, 0], covariance[1, 1], 0.0))

    def _judge(self, time: float, usable: bool, faults: tuple[str, ...], uncertainty: float) -> None:
        p = self.parameters
        tilt_known = uncertainty * self._tilt_std() < p.tilt_limit
        consistent = not self.filter.consistency > p.consistency_limit
        both = self.agreed and self.far < p.hypotheses.limit
        believed = both and tilt_known
        self._known |= believed or time - self._first_time > _PATIENCE
        finite = math.isfinite(self.filter.quaternion_wxyz[0])
        self.settled = bool(usable and tilt_known and consistent and finite)
        self.valid = self.settled and both
        self.faults = faults
        if not consistent or self._agreement.contradiction:
            self.faults += (_CONTRADICTION,)
        elif self._known and not believed:
            self.faults += (_UNCERTAIN,)


_PATIENCE = 2.0  # [s] after the start from which a tilt that is not known is told
_BLIND_RATE = 0.05  # [rad/s] by which gravity is less known while there is no force to compare with
_MOST_BIAS = math.radians(3.0)  # [rad/s] that a filter may believe in before the comparison stops to believe it
_CONTRADICTION = (
    "gyroscope and accelerometer contradict each other: axes swapped, sign, unit or the gyroscope's offset wrong? "
    "Check the board's settings, and write an offset of more than 1 °/s as gyroscope_bias in the IMU's calibration "
    "file; then turn the base calmly by 30° about two axes, or reset"
)
_UNCERTAIN = (
    "tilt uncertain: gyroscope and accelerometer do not agree on it, or not yet; "
    "hold the base still for a second, and turn it calmly once"
)
