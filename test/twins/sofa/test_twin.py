"""SOFA's twin, with our own finite elements in its process's place: what is asked, and what is made of the answers."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from soft_twin import load_robot
from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, DescriptionError, InputError, UsageError
from soft_twin.inverse.goals import OrientationGoal
from soft_twin.robots.sofa import sofa_mesh
from soft_twin.twins.sofa import process

STAND_IN = Path(__file__).with_name("stand_in.py")
SIDEWAYS = np.array([0.0, -9.81, 0.0])
COARSE = (1, 6, 8)


@pytest.fixture(scope="module", autouse=True)
def no_sofa_but_the_stand_in():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "WORKER", STAND_IN)
        yield


@pytest.fixture(scope="module")
def slender():
    return load_robot("slender")


@pytest.fixture(scope="module")
def mesh(slender):
    """The slender robot of few tetrahedra."""
    from soft_twin.mesh.generate.sweep import sweep_tube
    from soft_twin.mesh.tetrahedra import linear_tetrahedra

    body = slender.body
    whole = sweep_tube(0.5 * body.lumen_diameter, 0.5 * body.outer_diameter, body.length, COARSE, "hex8")
    mesh = linear_tetrahedra(whole, 1)
    return mesh.nodes, mesh.cells


@pytest.fixture
def sofa_tube(slender, mesh):
    """What builds a twin in a process of its own."""
    return lambda: slender.build_twin(backend="sofa", mesh=mesh)


@pytest.fixture(scope="module")
def both(slender, mesh):
    """SOFA's twin and ours."""
    ours = slender.build_twin(mesh=mesh, element="tet4", material="corotational")
    return slender.build_twin(backend="sofa", mesh=mesh), ours


@pytest.fixture
def twins(both):
    for twin in both:
        twin.reset()
    return both


def test_equilibria_are_those_of_the_same_mechanics(twins):
    theirs, ours = twins
    for given in ({"efforts": [0.5, 0.0, 0.2, 0.0, 0.8, 0.1]}, {"coordinates": [0.002, 0.0, None, None, 0.003, 0.0]}):
        expected, found = (twin.equilibrium(SIDEWAYS, **given) for twin in (ours, theirs))
        assert np.abs(found.points - expected.points).max() < 2e-8
        assert np.allclose(found.efforts, expected.efforts, atol=1e-5)
        assert np.allclose(found.coordinates, expected.coordinates, atol=1e-8)
        assert found.residual < 1e-6


def test_a_step_is_newtons_own(twins):
    for twin in twins:
        twin.equilibrium(SIDEWAYS, efforts=[0.5, 0.0, 0.2, 0.0, 0.8, 0.1])
    found, expected = (twin.linearise(np.array([3.0, 0.0, -9.0])) for twin in twins)
    scale = np.abs(expected.step_per_effort).max()
    assert np.allclose(found.step_per_effort, expected.step_per_effort, atol=2e-2 * scale)  # without cables' stiffness
    assert np.allclose(found.compliance, expected.compliance, rtol=0.05, atol=1e-5)
    assert found.residual == pytest.approx(expected.residual, rel=1e-3)
    assert found.energy == pytest.approx(expected.energy, rel=1e-4)


def test_our_inverse_works_on_its_steps(slender, twins):
    target = [0.01, 0.004, 0.096]
    found, expected = (slender.build_inverse(twin).solve(SIDEWAYS, target) for twin in twins)
    assert found.reachable and found.converged
    assert np.allclose(found.coordinates, expected.coordinates, atol=1e-5)


def test_sofas_own_inverse_is_asked_for_places_of_the_tip(slender, sofa_tube, monkeypatch):
    monkeypatch.setenv("OWN_INVERSE", "1")
    theirs = sofa_tube()
    inverse = slender.build_inverse(theirs)
    asked = []
    ask = theirs._process.ask
    monkeypatch.setattr(theirs._process, "ask", lambda what, *rest: asked.append(what) or ask(what, *rest))
    found = inverse.solve(SIDEWAYS, [0.01, 0.004, 0.096], settled=1e-6)
    assert found.error < 1e-4 and set(asked) == {"solve"}
    inverse.solve(SIDEWAYS, goals=[OrientationGoal(load_frame(theirs), np.eye(3))], max_iterations=2)
    assert "step" in asked


def test_a_body_that_is_followed_takes_one_step_a_tick(slender, twins, monkeypatch):
    theirs, _ = twins
    shapes, ask = [], theirs._process.ask
    monkeypatch.setattr(
        theirs._process,
        "ask",
        lambda what, told, arrays: shapes.append(arrays["efforts"].shape) or ask(what, told, arrays),
    )
    controllers = [slender.build_controller(twin) for twin in twins]
    for _ in range(40):
        found, expected = (controller.update(SIDEWAYS) for controller in controllers)
    assert set(shapes) == {(1, 6)}
    assert np.linalg.norm(found.tip - expected.tip) < 1e-6 and found.converged


def load_frame(twin):
    from soft_twin.twins.frames import NodesFrame

    return NodesFrame(twin.body.mesh.group("tip"), twin.body.mesh.nodes)


@pytest.fixture(scope="module")
def neck():
    return load_robot("neck").build_twin("sofa")


@pytest.fixture
def model(neck):
    """A neck's, with nothing on its plate."""
    neck.bear(UPRIGHT_GRAVITY)
    neck.reset()
    return neck


def test_plates_turn_and_stay_rigid(model):
    theirs = model.twin
    found = theirs.equilibrium(SIDEWAYS, coordinates=[0.01, 0.0, -0.004])
    own = theirs.model.unknowns.plates[0]
    rest = theirs.body.mesh.nodes
    pairs = [np.linalg.norm(points[own][:, None] - points[own], axis=2) for points in (found.points, rest)]
    assert np.abs(pairs[0] - pairs[1]).max() < 1e-12
    assert np.degrees(np.arccos(theirs.frames["tip"].rotation(theirs)[2, 2])) > 5.0
    assert np.allclose(found.coordinates, [0.01, 0.0, -0.004], atol=1e-8)
    assert found.residual < 5e-3  # of cables of 40 N


def test_it_models_a_neck(model):
    pulled = model.displacements(0.1, 0.05)
    assert np.allclose(model.orientation(pulled), (0.1, 0.05), atol=2e-3)


def test_a_payload_reaches_it(model):
    model.bear(SIDEWAYS)
    before = model.orientation(np.zeros(3))
    model.bear(SIDEWAYS, 0.5)
    after = model.orientation(np.zeros(3))
    assert np.abs(np.degrees(np.subtract(after, before))).max() > 0.2


def chamber_side(twin) -> np.ndarray:
    """(2,) unit vector from the axis to the first chamber."""
    place = twin.body.mesh.nodes[np.unique(twin.body.mesh.surface("chamber 1"))].mean(axis=0)[:2]
    return place / np.linalg.norm(place)


def test_threads_that_sofa_has_not_are_told_at_the_build():
    with pytest.raises(UsageError, match="a SOFA twin has no fibres: its cells are isotropic, of E and ν"):
        load_robot("arm").build_twin(backend="sofa")


def test_chambers_push(tmp_path):
    file = tmp_path / "arm.yaml"
    content = yaml.safe_load(load_robot("arm").path.read_text())
    del content["robot"]["body"]["fibres"]  # SOFA's scene has none
    file.write_text(yaml.safe_dump({"robot": content["robot"] | {"sofa": {"pieces": 1}}}))
    twin = load_robot(str(file)).build_twin(backend="sofa")
    found = twin.equilibrium(np.array([0.0, 0.0, -9.81]), efforts=[6e4, 0, 0, 0, 0, 0])
    assert found.coordinates[0] > 0.0 and np.abs(found.coordinates[1:]).max() < found.coordinates[0]
    assert found.tip[:2] @ chamber_side(twin) < -5e-4  # it bends away from what swells
    assert found.residual < 5e-3  # of cables of 40 N


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dies", "ended by signal 6: a component was not where it was thought to be"),
        ("nan", "SOFA's step is not finite"),
        ("error", "SOFA 99.12.01: ValueError: no such thing"),
        ("hangs", "SOFA does not answer within 0.5 s"),
    ],
)
def test_what_goes_wrong_is_told(fault, said, sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", fault)
    monkeypatch.setenv("AFTER", "1")
    twin = sofa_tube()
    monkeypatch.setattr(process, "ANSWERING", 0.5)
    with pytest.raises(ConvergenceError, match=said):
        twin.linearise(SIDEWAYS)


def failed(twin):
    """What a step says, and how long it takes to say so [s]."""
    begun = time.monotonic()
    with pytest.raises(ConvergenceError) as error:
        twin.linearise(SIDEWAYS)
    return str(error.value), time.monotonic() - begun


def until_it_answers(twin):
    deadline = time.monotonic() + 100.0
    while time.monotonic() < deadline:
        try:
            return twin.linearise(SIDEWAYS)
        except ConvergenceError:
            time.sleep(0.05)
    pytest.fail("it does not start again")


def test_a_process_that_has_ended_is_told_at_once_and_started_beside_who_asks(sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "dies")
    twin = sofa_tube()
    assert twin.version == "99.12.01"
    monkeypatch.setenv("FAULT", "")
    twin.linearise(SIDEWAYS)
    before = twin.linearise(SIDEWAYS)
    launch, held = process.SofaProcess._launch, threading.Event()
    monkeypatch.setattr(process.SofaProcess, "_launch", lambda self: held.wait(100.0) and launch(self))
    assert "ended by signal 6: a component was not where" in failed(twin)[0]
    for _ in range(3):
        said, took = failed(twin)
        assert "ended by signal 6" in said and "it is being started again" in said and took < 0.2
    held.set()
    assert np.allclose(until_it_answers(twin).free_step, before.free_step, atol=1e-12)  # it goes on where it was


def test_one_that_cannot_be_started_again_is_tried_now_and_then(sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "dies")
    monkeypatch.setenv("AFTER", "1")
    twin = sofa_tube()
    monkeypatch.setenv("FAULT", "no_sofa")
    failed(twin)
    twin._process._starter.join()
    assert "No module named 'Sofa'" in failed(twin)[0] and "it is started again in" in failed(twin)[0]
    monkeypatch.setenv("FAULT", "")
    monkeypatch.setattr(process, "AGAIN", 0.0)
    until_it_answers(twin)


def test_one_that_hangs_is_not_waited_for_twice(sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "hangs")
    monkeypatch.setenv("AFTER", "1")
    twin = sofa_tube()
    monkeypatch.setenv("FAULT", "")
    monkeypatch.setattr(process, "ANSWERING", 0.5)
    assert "does not answer within 0.5 s" in failed(twin)[0]
    said, took = failed(twin)
    assert "SOFA has not answered for 0.5 s: it is started again" in said and took < 0.4
    until_it_answers(twin)


def test_an_answer_that_comes_late_is_not_taken_for_another_questions(sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "slow")
    monkeypatch.setenv("AFTER", "1")
    twin = sofa_tube()
    twin._process._took.extend([0.01] * process.FIRST)
    assert "does not answer within 1 s" in failed(twin)[0]
    said, took = failed(twin)
    assert "SOFA does not answer, for 1" in said and took < 0.4
    time.sleep(1.5)
    twin._process._wait_for_the_last()
    assert twin._process._asked is None


def test_a_loop_holds_while_it_is_away_and_goes_on(slender, sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "dies")
    twin = sofa_tube()
    monkeypatch.setenv("FAULT", "")
    controller = slender.build_controller(twin)
    controller.enable(True)
    controller.update(SIDEWAYS)
    before = controller.update(SIDEWAYS)
    held = controller.update(SIDEWAYS)
    assert held.holding and np.array_equal(held.coordinates, before.coordinates)
    until_it_answers(twin)
    ticks = [controller.update(SIDEWAYS) for _ in range(60)]
    assert not ticks[-1].holding and ticks[-1].converged
    assert np.allclose(ticks[-1].coordinates, controller.update(SIDEWAYS).coordinates, atol=1e-6)
    monkeypatch.setenv("FAULT", "no_sofa")
    last = controller.update(SIDEWAYS)
    twin.close()
    held = controller.update(SIDEWAYS)  # it cannot even be started
    assert held.holding and np.array_equal(held.coordinates, last.coordinates)


def test_without_sofa_it_is_said_how_to_get_it(sofa_tube, monkeypatch):
    monkeypatch.setenv("FAULT", "no_sofa")
    with pytest.raises(UsageError, match="No module named 'Sofa'.*SOFA_ROOT.*docs/twin.md"):
        sofa_tube()
    monkeypatch.setenv(process.PYTHON, "no/such/python")
    with pytest.raises(UsageError, match="there is no no/such/python"):
        sofa_tube()


def test_gravity_is_checked(twins):
    with pytest.raises(InputError, match="gravity"):
        twins[0].linearise(np.array([np.nan, 0.0, 0.0]))


def test_what_has_no_place_in_a_scene_is_named(tmp_path):
    with pytest.raises(UsageError, match="'finger' has obstacles"):
        load_robot("finger").build_twin(backend="sofa")
    with pytest.raises(UsageError, match="no twin 'abaqus'"):
        load_robot("neck").build_twin(backend="abaqus")
    with pytest.raises(UsageError, match="linear tetrahedra, not of cells of 20"):
        load_robot("slender").build_twin(backend="sofa", mesh="hex20r", element="hex20r")
    robot = tmp_path / "neck.yaml"
    robot.write_text(load_robot("neck").path.read_text().partition("  # For SOFA")[0])
    with pytest.raises(DescriptionError, match=r"neck.yaml.*linear tetrahedra: .* inverted or flat"):
        sofa_mesh(load_robot(str(robot)))
