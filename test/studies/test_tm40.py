import numpy as np

import soft_twin
from soft_twin.studies import tm40


def test_hand_moves_the_tip_left_and_right_and_ours_follows():
    rows = tm40._manual_deformation(soft_twin.load_robot("tm40"))
    truth, ours, with_force = (np.array([shapes[k].tip()[0] for _, shapes in rows]) for k in range(3))
    assert truth.min() < -0.2 and truth.max() > 0.2
    assert np.abs(ours - truth).max() < 0.05
    assert np.std(with_force - truth) < np.std(ours - truth)


def test_pictures_of_the_descents_are_drawn(tmp_path):
    arm = soft_twin.load_robot("tm40")
    tm40._draw_convergence(
        tmp_path / "convergence.png",
        arm,
        {"collapsed": tm40._descent(arm, "collapsed")} | {"expanded": tm40._descent(arm, "expanded")},
    )
    assert (tmp_path / "convergence.png").stat().st_size > 10000
