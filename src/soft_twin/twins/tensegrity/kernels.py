"""Energy, gradient and Hessian of a tensegrity: the loops over members and struts, compiled.

Symbols: b, t = b + L q a strut's ends; m a member's length, u its direction, b₀ its natural length, k its stiffness.

Each member stores e = ½ k (m − b₀)₊². It pulls with T = k (m − b₀)₊ and has the Hessian B = k u uᵀ + (T/m)(I − u uᵀ)
with respect to the vector between its ends. A cylinder at the end of its stroke, longer or shorter than its stops, is
held by K (m − stop) more, and pushes (T < 0) at the shorter one. A strut moves by five numbers y = (translation (3),
two arcs at its top (2)), of which `equations` says which are unknowns: t(y) = b + y₁₂₃ + Σ τₐ y₃₊ₐ + ½ κ Σ y₃₊ₐ² with
unit tangents τ and the top's curvature vector κ. All five are in metres, so that every entry of a gradient is a force
in newtons.
"""

import numpy as np

from soft_twin.linear_algebra.compiled import kernel

SLACK_LENGTH = 1e-12  # [m] below which a member has no direction
STOP_STIFFNESS = 2e5  # K [N/m] of a cylinder's end stops: 0.1 mm at 20 N


@kernel(error_model="numpy")
def node_positions(bottoms, directions, lengths):
    """(2 s, 3) nodes from bottoms (s, 3), unit directions (s, 3) and lengths (s,)."""
    count = len(lengths)
    nodes = np.empty((2 * count, 3))
    for i in range(count):
        for d in range(3):
            nodes[i, d] = bottoms[i, d]
            nodes[count + i, d] = bottoms[i, d] + lengths[i] * directions[i, d]
    return nodes


@kernel(error_model="numpy")
def member_law(length, stiffness, natural, stops):
    """Energy e [J], tension T = de/dm [N] and dT/dm [N/m] of a member; stops (2,) shortest and longest length [m]."""
    energy = tension = slope = 0.0
    if length > natural:
        energy = 0.5 * stiffness * (length - natural) ** 2
        tension = stiffness * (length - natural)
        slope = stiffness
    beyond = max(length - stops[1], 0.0) + min(length - stops[0], 0.0)
    if beyond != 0.0:
        energy += 0.5 * STOP_STIFFNESS * beyond * beyond
        tension += STOP_STIFFNESS * beyond
        slope += STOP_STIFFNESS
    return energy, tension, slope


@kernel(error_model="numpy")
def potential(nodes, members, stiffness, natural, stops, loads, holds, targets):
    """Energy [J]: Σ e − Σ load·x + Σ ½ hold |x − target|²."""
    energy = 0.0
    for k in range(len(members)):
        a, c = members[k, 0], members[k, 1]
        square = 0.0
        for d in range(3):
            square += (nodes[a, d] - nodes[c, d]) ** 2
        energy += member_law(np.sqrt(square), stiffness[k], natural[k], stops[k])[0]
    for n in range(len(nodes)):
        for d in range(3):
            energy += (0.5 * holds[n] * (nodes[n, d] - targets[n, d]) ** 2) - loads[n, d] * nodes[n, d]
    return energy


@kernel(error_model="numpy")
def load_terms(nodes, loads):
    """Σ |load·x| [J]: what the loads' potential is the difference of."""
    total = 0.0
    for n in range(len(nodes)):
        for d in range(3):
            total += abs(loads[n, d] * nodes[n, d])
    return total


@kernel(error_model="numpy")
def tensions(nodes, members, stiffness, natural, stops):
    """(m,) tensions T of the members [N]."""
    result = np.empty(len(members))
    for k in range(len(members)):
        square = 0.0
        for d in range(3):
            square += (nodes[members[k, 0], d] - nodes[members[k, 1], d]) ** 2
        result[k] = member_law(np.sqrt(square), stiffness[k], natural[k], stops[k])[1]
    return result


@kernel(error_model="numpy")
def node_gradient(nodes, members, stiffness, natural, stops, loads, holds, targets):
    """(2 s, 3) derivative of the potential with respect to each node, as if nodes were free [N]."""
    gradient = np.empty_like(nodes)
    for n in range(len(nodes)):
        for d in range(3):
            gradient[n, d] = holds[n] * (nodes[n, d] - targets[n, d]) - loads[n, d]
    for k in range(len(members)):
        a, c = members[k, 0], members[k, 1]
        x, y, z = nodes[a, 0] - nodes[c, 0], nodes[a, 1] - nodes[c, 1], nodes[a, 2] - nodes[c, 2]
        length = np.sqrt(x * x + y * y + z * z)
        tension = member_law(length, stiffness[k], natural[k], stops[k])[1]
        if tension != 0.0 and length > SLACK_LENGTH:
            density = tension / length
            gradient[a, 0] += density * x
            gradient[a, 1] += density * y
            gradient[a, 2] += density * z
            gradient[c, 0] -= density * x
            gradient[c, 1] -= density * y
            gradient[c, 2] -= density * z
    return gradient


@kernel(error_model="numpy")
def strut_frames(directions, lengths, measured, tangents, curvatures):
    """Fill tangents τ (s, 2, 3) and curvatures κ (s, 3) of the struts' tops.

    A measured strut turns about the vertical only: τ₁ along the circle of constant inclination, κ towards the circle's
    axis; its τ₂ points along increasing inclination. A free one moves on the sphere: κ = −q/L.
    """
    for i in range(len(lengths)):
        x, y, z = directions[i, 0], directions[i, 1], directions[i, 2]
        sine = np.sqrt(x * x + y * y)
        if measured[i]:
            _put(tangents[i, 0], -y, x, 0.0)
            _put(curvatures[i], -x / lengths[i], -y / lengths[i], 0.0)
        else:
            if sine > 1e-9:
                _put(tangents[i, 0], -y / sine, x / sine, 0.0)
            else:
                _put(tangents[i, 0], 0.0, 1.0, 0.0)
            _put(curvatures[i], -x / lengths[i], -y / lengths[i], -z / lengths[i])
        if sine > 1e-9:
            _put(tangents[i, 1], z * x / sine, z * y / sine, -sine)
        else:
            _put(tangents[i, 1], z, 0.0, 0.0)


@kernel(error_model="numpy")
def _put(vector, x, y, z):
    """Fill a vector (3,)."""
    vector[0], vector[1], vector[2] = x, y, z


@kernel(error_model="numpy")
def strut_gradient(forces, tangents, equations, gradient):
    """Fill the gradient (n,) [N] of the unknowns from that of the nodes (2 s, 3)."""
    count = len(equations)
    for i in range(count):
        for d in range(3):
            if equations[i, d] >= 0:
                gradient[equations[i, d]] = forces[i, d] + forces[count + i, d]
        for a in range(2):
            row = equations[i, 3 + a]
            if row >= 0:
                gradient[row] = 0.0
                for d in range(3):
                    gradient[row] += tangents[i, a, d] * forces[count + i, d]


@kernel(error_model="numpy")
def hessian(nodes, members, stiffness, natural, stops, holds, forces, tangents, curvatures, equations, convex, band):
    """Fill the Hessian of the unknowns as a lower band (k + 1, n) [N/m] in LAPACK's layout.

    Args:
        forces: (2 s, 3) gradient of the nodes, which the tops' curvature multiplies.
        equations: (s, 5) equation of each strut's motion, −1 where it is held.
        convex: leave out the negative curvature of struts and of cylinders that push, which makes the Hessian positive
            semidefinite.
    """
    count = len(equations)
    band[:, :] = 0.0
    for i in range(count):
        bend = 0.0
        for d in range(3):
            bend += curvatures[i, d] * forces[count + i, d]
        for a in range(2):
            if equations[i, 3 + a] >= 0 and not (convex and bend < 0.0):
                band[0, equations[i, 3 + a]] += bend
    right = np.empty((3, 5))
    own = np.zeros((2 * count, 3, 3))
    for n in range(2 * count):
        for d in range(3):
            own[n, d, d] = holds[n]
    block = np.empty((3, 3))
    for k in range(len(members)):
        a, c = members[k, 0], members[k, 1]
        x, y, z = nodes[a, 0] - nodes[c, 0], nodes[a, 1] - nodes[c, 1], nodes[a, 2] - nodes[c, 2]
        length = np.sqrt(x * x + y * y + z * z)
        _, tension, slope = member_law(length, stiffness[k], natural[k], stops[k])
        if slope == 0.0 or length <= SLACK_LENGTH:
            continue
        density = tension / length
        if convex:
            density = max(density, 0.0)
        along = (slope - density) / (length * length)
        u = (x, y, z)
        for d in range(3):
            for e in range(3):
                block[d, e] = along * u[d] * u[e]
            block[d, d] += density
            for e in range(3):
                own[a, d, e] += block[d, e]
                own[c, d, e] += block[d, e]
        _add_block(block, a, c, count, -1.0, tangents, equations, band, right)
    for n in range(2 * count):
        _add_block(own[n], n, n, count, 1.0, tangents, equations, band, right)


@kernel(error_model="numpy")
def inclination(direction):
    """Angle between a unit direction (3,) and up [rad], and the sine of it."""
    sine = np.sqrt(direction[0] ** 2 + direction[1] ** 2)
    return np.arctan2(sine, direction[2]), sine


@kernel(error_model="numpy")
def grip_energy(directions, grips, inclinations):
    """Energy [J] of the springs that turn struts to measured inclinations: Σ ½ grip (φ − measured)²."""
    energy = 0.0
    for i in range(len(grips)):
        if grips[i] > 0.0:
            energy += 0.5 * grips[i] * (inclination(directions[i])[0] - inclinations[i]) ** 2
    return energy


@kernel(error_model="numpy")
def add_grip_gradient(directions, lengths, grips, inclinations, equations, gradient):
    """Add the grips' gradient [N]: dφ = dy₅/L along a strut's tilt, nothing along its yaw."""
    for i in range(len(grips)):
        if grips[i] > 0.0 and equations[i, 4] >= 0:
            gradient[equations[i, 4]] += grips[i] * (inclination(directions[i])[0] - inclinations[i]) / lengths[i]


@kernel(error_model="numpy")
def add_grip_hessian(directions, lengths, grips, inclinations, equations, convex, band):
    """Add the grips' Hessian [N/m]: d²φ = cot φ dy₄²/L², since a great circle leaves its latitude towards the equator.

    Args:
        convex: leave out what is negative.
    """
    for i in range(len(grips)):
        if grips[i] > 0.0 and equations[i, 4] >= 0:
            angle, sine = inclination(directions[i])
            band[0, equations[i, 4]] += grips[i] / lengths[i] ** 2
            if sine > 1e-9:
                bend = grips[i] * (angle - inclinations[i]) * directions[i, 2] / sine / lengths[i] ** 2
                if not (convex and bend < 0.0):
                    band[0, equations[i, 3]] += bend


@kernel(error_model="numpy")
def _add_block(block, a, c, count, sign, tangents, equations, band, right):
    """Add sign · JₐᵀB J_c between the struts of nodes a and c, J = [I, τ₁, τ₂] at a top and [I, 0, 0] at a bottom.

    `right` (3, 5) is room for B J_c.
    """
    i, j = a % count, c % count
    rows = 5 if a >= count else 3
    columns = 5 if c >= count else 3
    for d in range(3):
        for e in range(3):
            right[d, e] = sign * block[d, e]
        for e in range(3, columns):
            t = tangents[j, e - 3]
            right[d, e] = sign * (block[d, 0] * t[0] + block[d, 1] * t[1] + block[d, 2] * t[2])
    for p in range(rows):
        row = equations[i, p]
        if row < 0:
            continue
        for q in range(columns):
            column = equations[j, q]
            if column < 0 or (a == c and column > row):
                continue
            if p < 3:
                value = right[p, q]
            else:
                t = tangents[i, p - 3]
                value = t[0] * right[0, q] + t[1] * right[1, q] + t[2] * right[2, q]
            if row >= column:
                band[row - column, column] += value
            else:
                band[column - row, row] += value


@kernel(error_model="numpy")
def move_struts(bottoms, directions, lengths, measured, tangents, equations, step, scale):
    """Bottoms and directions after scale · step (n,) along the unknowns; measured struts keep their inclination."""
    new_bottoms, new_directions = np.empty_like(bottoms), np.empty_like(directions)
    for i in range(len(lengths)):
        for d in range(3):
            new_bottoms[i, d], new_directions[i, d] = bottoms[i, d], directions[i, d]
            if equations[i, d] >= 0:
                new_bottoms[i, d] += scale * step[equations[i, d]]
        first = scale * step[equations[i, 3]] if equations[i, 3] >= 0 else 0.0
        second = scale * step[equations[i, 4]] if equations[i, 4] >= 0 else 0.0
        if measured[i]:
            angle = first / lengths[i]
            cosine, sine = np.cos(angle), np.sin(angle)
            new_directions[i, 0] = cosine * directions[i, 0] - sine * directions[i, 1]
            new_directions[i, 1] = sine * directions[i, 0] + cosine * directions[i, 1]
        else:
            arc = np.sqrt(first * first + second * second)
            if arc > 0.0:
                turn = arc / lengths[i]
                for d in range(3):
                    tangent = (first * tangents[i, 0, d] + second * tangents[i, 1, d]) / arc
                    new_directions[i, d] = np.cos(turn) * directions[i, d] + np.sin(turn) * tangent
            square = 0.0
            for d in range(3):
                square += new_directions[i, d] ** 2
            norm = np.sqrt(square)
            for d in range(3):
                new_directions[i, d] /= norm
    return new_bottoms, new_directions
