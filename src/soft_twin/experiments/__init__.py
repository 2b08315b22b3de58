"""Experiments that papers' figures come from, one module each.

An experiment's module has `run(folder, data) -> str`: it writes its pictures into `folder`, reads recordings from
`data`, and returns the table that is printed. Its name in EXPERIMENTS is what a user types.
"""

EXPERIMENTS = {
    "imu": "temperature control and EKF ablated on an emulated chip; filters on real recordings (BROAD)",
    "imu_parameters": "the EKF's parameters chosen on all recordings but one, its error on that one beside VQF's",
    "tm40": "the tensegrity arm's shape from inclinations: the paper's experiments, each estimator against the truth",
    "tensegrity_arm": "the tensegrity twin on recordings of a real arm with five IMUs",
}
