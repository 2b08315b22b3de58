"""What a tensegrity consists of, and whether that is sound: struts, members, anchors."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from soft_twin.errors import DescriptionError

MIN_MEMBERS_AT_NODE = 3
LINE = 1e-3  # share of their length, across which the anchored bottoms lie on one line


@dataclass(frozen=True)
class Structure:
    """Struts and the members (cords and cylinders) between their ends.

    A structure of s struts has 2 s nodes: strut i's bottom is node i, its top is node s + i. Struts are numbered
    from the base.

    Attributes:
        strut_lengths: (s,) [m].
        members: (m, 2) node indices of each member's ends.
        groups: (m,) name of the group that each member's law comes from.
        active: (m,) True where the member is a pneumatic cylinder.
        anchors: (a,) strut indices whose bottoms are held.
        anchor_points: (a, 3) where they are held, in base_link [m].
        tip: (t,) strut indices whose tops are the tip.
        node_masses: (2 s,) [kg].
    """

    strut_lengths: np.ndarray
    members: np.ndarray
    groups: tuple[str, ...]
    active: np.ndarray
    anchors: np.ndarray
    anchor_points: np.ndarray
    tip: np.ndarray
    node_masses: np.ndarray = field(repr=False)

    @property
    def strut_count(self) -> int:
        return len(self.strut_lengths)

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes: b0, b1 … the bottoms, t0, t1 … the tops."""
        return [f"{end}{i}" for end in "bt" for i in range(self.strut_count)]

    @property
    def member_struts(self) -> np.ndarray:
        """(m, 2) struts that each member joins."""
        return self.members % self.strut_count

    @property
    def top_nodes(self) -> np.ndarray:
        """(t,) nodes of the tip."""
        return self.strut_count + self.tip

    def strut_order(self) -> np.ndarray:
        """(s,) the order of struts that keeps the equations' bandwidth small: as described, or Cuthill–McKee's."""
        i, j = self.member_struts.T
        graph = coo_matrix((np.ones(len(i)), (i, j)), shape=(self.strut_count,) * 2).tocsr()
        graph = graph + graph.T
        described = np.arange(self.strut_count)
        reordered = np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True))
        return min((described, reordered), key=self._span)

    def _span(self, order: np.ndarray) -> int:
        rank = np.argsort(order)
        return int(np.abs(np.diff(rank[self.member_struts], axis=1)).max())


def node_index(name: str, strut_count: int, where: str) -> int:
    """The index of the node "b7" or "t7".

    Raises:
        DescriptionError: there is no such node.
    """
    end, number = name[:1], name[1:]
    if end not in ("b", "t") or not number.isdigit() or int(number) >= strut_count:
        raise DescriptionError(f"{where}: no node '{name}': nodes are b0…b{strut_count - 1} and t0…t{strut_count - 1}")
    return int(number) + (strut_count if end == "t" else 0)


def check(structure: Structure, where: str) -> Structure:
    """The structure itself, if it is one that can stand.

    Raises:
        DescriptionError: a strut or mass is not positive; a member joins a node or strut to itself, to nothing, or
            twice; a node has too few members to be held; a strut floats free of the anchored ones; fewer than three
            bottoms are held, or all on one line.
    """
    _check_sizes(structure, where)
    names = structure.node_names
    for k, (a, c) in enumerate(structure.members):
        if a % structure.strut_count == c % structure.strut_count:
            raise DescriptionError(f"{where}: member {k} ({names[a]}–{names[c]}) joins a strut to itself")
    _check_duplicates(structure.members, names, where)
    counts = np.bincount(structure.members.ravel(), minlength=len(names))
    anchored = np.isin(np.arange(len(names)), structure.anchors)
    weak = [names[node] for node in np.flatnonzero((counts < MIN_MEMBERS_AT_NODE) & ~anchored)]
    if weak:
        raise DescriptionError(f"{where}: {', '.join(weak)}: fewer than {MIN_MEMBERS_AT_NODE} members hold this node")
    floating = _floating_struts(structure)
    if floating:
        raise DescriptionError(f"{where}: struts {floating} float: no chain of members leads to an anchored strut")
    return structure


def _check_sizes(structure: Structure, where: str) -> None:
    if not (np.all(structure.strut_lengths > 0.0) and np.all(structure.node_masses >= 0.0)):
        raise DescriptionError(f"{where}: every strut needs a length above 0 m and nodes a mass of at least 0 kg")
    nodes = 2 * structure.strut_count
    if structure.members.min(initial=0) < 0 or structure.members.max(initial=0) >= nodes:
        raise DescriptionError(f"{where}: a member ends at no node: nodes are 0…{nodes - 1}")
    if len(structure.anchors) < 3:
        raise DescriptionError(
            f"{where}: {len(structure.anchors)} struts are anchored: at least 3 fix place, yaw and handedness"
        )
    along, across = np.linalg.svd(structure.anchor_points - structure.anchor_points.mean(axis=0))[1][:2]
    if across <= LINE * along:
        raise DescriptionError(
            f"{where}: the bottoms of the anchored struts {structure.anchors.tolist()} lie on one line, about which "
            "the arm could turn: expected 3 that do not"
        )


def _check_duplicates(members: np.ndarray, names: Sequence[str], where: str) -> None:
    pair, count = Counter(tuple(sorted(ends)) for ends in members.tolist()).most_common(1)[0]
    if count > 1:
        raise DescriptionError(f"{where}: {names[pair[0]]}–{names[pair[1]]} is there {count} times")


def _floating_struts(structure: Structure) -> list[int]:
    i, j = structure.member_struts.T
    graph = coo_matrix((np.ones(len(i)), (i, j)), shape=(structure.strut_count,) * 2)
    labels = connected_components(graph, directed=False)[1]
    return np.flatnonzero(~np.isin(labels, labels[structure.anchors])).tolist()
