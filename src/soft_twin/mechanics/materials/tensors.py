"""What strain energies share: derivatives of J = det F, at points (p, 3, 3)."""

import numpy as np

IDENTITY = np.eye(3)
LEVI_CIVITA = np.array([[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)])
_CROSSED = np.einsum("ikm,jln->ijklmn", LEVI_CIVITA, LEVI_CIVITA).reshape(81, 9)


def cofactor(F: np.ndarray) -> np.ndarray:
    """∂J/∂F (p, 3, 3): the cross products of F's rows, defined for every F; J F⁻ᵀ where there is an inverse."""
    return np.stack([np.cross(F[:, 1], F[:, 2]), np.cross(F[:, 2], F[:, 0]), np.cross(F[:, 0], F[:, 1])], axis=1)


def cofactor_derivative(F: np.ndarray) -> np.ndarray:
    """∂²J/∂F² (p, 3, 3, 3, 3): ε ε F."""
    return (F.reshape(-1, 9) @ _CROSSED.T).reshape(-1, 3, 3, 3, 3)


def outer(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A ⊗ B (p, 3, 3, 3, 3) of (p, 3, 3) each."""
    return A[:, :, :, None, None] * B[:, None, None, :, :]


def scaled(factors: np.ndarray, tensors: np.ndarray) -> np.ndarray:
    """Each of tensors (p, …) times its factor (p,)."""
    return factors.reshape(-1, *(1,) * (tensors.ndim - 1)) * tensors
