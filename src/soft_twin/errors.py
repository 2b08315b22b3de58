"""Every error that soft_twin raises on purpose.

An error names the thing, its value, and what would be right, in one line: the command line prints it as it
is and exits with 2, a node puts it into its diagnostics and goes to its safe state.
"""


class SoftTwinError(Exception):
    """Base of all errors of this package."""


class UsageError(SoftTwinError):
    """A command was asked for something that does not exist or cannot be done here."""


class DescriptionError(SoftTwinError):
    """A robot's description is missing, malformed, or contradicts itself."""


class MeshError(SoftTwinError):
    """A mesh is missing, unreadable, broken, or has an implausible size."""


class MaterialError(SoftTwinError):
    """A material parameter lies outside the range in which its law makes sense."""


class InputError(SoftTwinError):
    """A value handed to the library has the wrong size, is not finite, or is out of range."""


class ConvergenceError(SoftTwinError):
    """An equilibrium was not found.

    Attributes:
        history: residual norm of each iteration, in newtons.
        worst_element: index of the element with the smallest deformation determinant, or None.
    """

    def __init__(self, message: str, history: tuple[float, ...] = (), worst_element: int | None = None):
        super().__init__(message)
        self.history = history
        self.worst_element = worst_element


class DeviceError(SoftTwinError):
    """A device cannot be opened, went away, or talks nonsense."""


class RecordingError(SoftTwinError):
    """A recording is missing, unreadable, or lacks what was asked of it."""


class RunError(SoftTwinError):
    """A run of a robot's nodes ended before it was done."""
