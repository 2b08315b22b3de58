"""A recorded run goes through the library again: from IMU samples to cables, without middleware, to the same end."""

from pathlib import Path

import soft_twin
from soft_twin.recording.replay import replay, table

RECORDED = Path(__file__).resolve().parents[1] / "test" / "recording" / "recorded"

result = replay(RECORDED / "slender.mcap", soft_twin.load_robot(RECORDED / "slender.yaml"))
print(table(result))
print(f"gravity turned by: {result.gravity[:, 1].max() - result.gravity[:, 1].min():.2f} m/s²")
for row in result.comparisons:
    print(f"{row.what}, at most: {row.largest:.3g} {row.unit} off")
