"""A mesh of two boxes with names, written by Gmsh itself: called in a process of its own."""


def write_box(path: str) -> None:
    """Two boxes of second order upon each other; the lower one's end and corner have names, too."""
    import gmsh

    gmsh.initialize()
    low, high = gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1), gmsh.model.occ.addBox(0, 0, 1, 1, 1, 1)
    gmsh.model.occ.fragment([(3, low)], [(3, high)])
    gmsh.model.occ.synchronize()
    end = gmsh.model.getEntitiesInBoundingBox(-0.1, -0.1, -0.1, 1.1, 1.1, 0.1, 2)[0][1]
    gmsh.model.addPhysicalGroup(3, [low], name="low")
    gmsh.model.addPhysicalGroup(3, [low, high], name="all")
    gmsh.model.addPhysicalGroup(2, [end], name="end")
    gmsh.model.addPhysicalGroup(0, [1], name="corner")
    gmsh.option.setNumber("Mesh.MeshSizeMin", 0.7)
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.setOrder(2)
    gmsh.write(path)
