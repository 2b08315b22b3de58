"""A robot of one's own is one YAML file: here a soft bar that a cable along its axis shortens."""

from pathlib import Path
from tempfile import TemporaryDirectory

import soft_twin
from soft_twin.errors import DescriptionError

BAR = """
robot:
  name: bar
  kind: fem
  body:
    mesh: {voxels: {cells: [2, 2, 6], size: [0.02, 0.02, 0.12], element: hex20r}}                    # m
    materials: [{model: neo_hookean, young_modulus: 500000.0, poisson_ratio: 0.3, density: 1000.0}]  # Pa, kg/m³
    damping: {rayleigh_mass: 1.0, rayleigh_stiffness: 0.01}
    clamped: base
    plates: [{name: lid, nodes: tip}]
  cables:
    - {name: pull, start: [0.0, 0.0, 0.0], end: [0.0, 0.0, 0.12], tension: [0.0, 5.0], displacement: [0.0, 0.01],
       stiffness: 4000.0}  # N, m, N/m
  frames: {tip: {plate: lid}}
  target: {tip: [0.0, 0.0, 0.119]}
"""

with TemporaryDirectory() as folder:
    path = Path(folder, "bar.yaml")
    path.write_text(BAR, encoding="utf-8")
    robot = soft_twin.load_robot(path)
    path.write_text(BAR.replace("stiffness: 4000.0", "stiffnes: 4000.0"), encoding="utf-8")
    try:
        soft_twin.load_robot(path)
    except DescriptionError as error:
        print("a mistake is told:", str(error).replace(str(path), path.name))

pulled = robot.build_twin().equilibrium([0.0, 0.0, 0.0], efforts=[2.0])
print(f"shortened: {1e3 * (0.12 - pulled.tip[2]):.4f} mm")
print(f"cable wound in: {1e3 * pulled.coordinates[0]:.4f} mm")

solution = robot.build_inverse().solve([0.0, 0.0, 0.0], robot.target_tip)
print(f"tension for 1 mm: {solution.efforts[0]:.4f} N")
