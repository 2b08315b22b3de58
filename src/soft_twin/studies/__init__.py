"""Studies, one module each: papers' experiments done again, and validations of the simulator.

A study's module has `run(folder, data) -> str`: it writes its pictures into `folder`, reads recordings from `data`, and
returns the table that is printed. Its name in EXPERIMENTS or VALIDATIONS is what a user types.
"""

EXPERIMENTS = {
    "imu": "temperature control and EKF ablated on an emulated chip; filters on real recordings (BROAD)",
    "imu_parameters": "the EKF's parameters chosen on all recordings but one, its error on that one beside VQF's",
    "tm40": "the tensegrity arm's shape from inclinations: the paper's experiments, each estimator against the truth",
    "neck": "the soft neck's targets by each model, open and closed loop, on an emulated neck; 70 poses with 0…1000 g",
    "learning/membrane": "a membrane's surface, simulated, learned, and corrected by 40 scans: errors before and after",
    "learning/manipulator": "the same of a manipulator of two segments, by 30 scans",
    "learning/mannequin": "the same of a mannequin's front of nine pressures, by 40 scans",
    "learning/bellows": "the same of a manipulator of three times three bellows that is compressed, by 40 scans",
    "learning/shape": "the membrane takes ten scanned shapes by the learned surface, with and without its correction",
    "learning/mould": "the membrane takes drawn moulds and one that air cannot make, with and without correction",
    "learning/missing": "the manipulator learned from scans with holes and from markers with gaps",
    "learning/realities": "corrections of the manipulator where nothing was chosen, on realities of other seeds",
    "learning/direct": "the membrane without simulations, by as many scans and by ten times as many",
    "learning/ablations": "networks of other sizes, and parts of a correction left out: the mannequin",
    "learning/twins": "the same learning on top of finite elements, of arcs, and of a chain of plates in MuJoCo",
    "learning/planning": "the manipulator's tip is brought past a stick to a ball, planned with and without correction",
    "learning/real_tips": "tips of a real tensegrity arm and of a real trunk by regression, where it was not learned",
    "learning/real_surfaces": "twins of real robots and sheets corrected by some recordings, tested on others",
    "slender/tune": "E and damping of an emulated robot from its release: the paper's grid, and gradients through time",
    "slender/friction": "the friction of emulated cables by winches that bend the robot, and another motion predicted",
    "slender/real2sim": "releases at five inclinations: the emulated robot, its tuned twin, beam theory",
    "slender/static": "straight in six attitudes: sagging, then compensated; robot and twin correlated",
    "slender/bent": "a bend of 30° held through six attitudes, with and without compensation",
    "slender/long": "a distal segment of 80 mm, by one number of the description; nothing tuned again",
    "slender/arm": "a base that is carried through five poses twice, straight and bent, with and without compensation",
    "slender/handheld": "a base in a hand that trembles and is jerked, with and without compensation",
    "slender/speed": "how fast the base may turn and travel before the tip's error doubles; gravity looked ahead",
    "slender/tracker": "the loop closed on the tip through a tracker that is silent, jumps, or is in another frame",
    "slender/lumen": "pushed through two tubes and a colon, supine and on the side, compensated and not: its force",
    "slender/heating": "yaw by the EKF while a chip warms, with and without temperature control",
    "tensegrity_arm": "the tensegrity twin on recordings of a real arm with five IMUs",
}

VALIDATIONS = {
    "identification": "material parameters of a known and of a real beam, by exact gradients and by Bayesian search",
    "beam": "a real beam of silicone: rest, period and motion of its markers with one set of parameters",
    "elements": "every element: patch test, rigid motions, symmetric tangents, rates of convergence",
    "locking": "deflection of cantilevers against refinement at Poisson's ratios 0.3, 0.45, 0.49, for every element",
    "dynamics": "energy, momentum, orders in the step of Crank–Nicolson and backward Euler, a tumbling plate",
    "leg": "a jumping leg with two muscle groups: optuna times their contractions (needs optuna)",
    "silicone": "hanging silicone against its LIDAR cloud: shear modulus, distances",
    "poke": "a cylinder pressed 40 mm into a soft cube and withdrawn: force curve, penetration",
    "poke_fine": "the poke on a mesh as fine as the paper's (half an hour)",
    "sopra": "a pneumatic arm: six chambers at 60 kPa, one at a time",
    "neck": "real necks with three cables: encoders in, inclination out, by constant curvature and by finite elements",
    "scale": "a bar of 564 to 150 000 coordinates, at rest and in motion: time, memory (minutes)",
}

MODULES = {
    ("validate", "neck"): "neck_logs",
    **{("experiment", name): name.replace("/", ".") for name in EXPERIMENTS if "/" in name},
}  # where a study's module is not called as the study is
