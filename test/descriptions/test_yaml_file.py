"""YAML of others: what is read, and that nothing of it is larger than its message."""

import math

import pytest

from soft_twin.descriptions.shortened import shortened
from soft_twin.descriptions.yaml_file import MAX_VALUES, parse, read_yaml
from soft_twin.errors import DescriptionError


def test_numbers_are_those_of_yaml_1_2():
    text = "a: 1.2e6\nb: 1e-3\nc: -7\nd: .inf\ne: '1.0'\nf: 2026-01-01\ng: yes\nh: true\ni: ~\nj: 1_000\nk: 010\n"
    values = list(parse(text, "mine.yaml").values())
    assert values == [1.2e6, 1e-3, -7, math.inf, "1.0", "2026-01-01", "yes", True, None, "1_000", 10]


def test_values_know_their_lines():
    content = parse("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", "mine.yaml")
    assert content.lines == {"a": 1, "b": 2}
    assert content["b"].lines == [3, 4]
    assert content["b"][1].lines == {"c": 4, "d": 5}


def test_an_alias_stands_for_its_anchor():
    assert parse("a: &x [1, 2]\nb: *x\n", "mine.yaml") == {"a": [1, 2], "b": [1, 2]}


def bomb(levels):
    rows = [f"{c}: &{c} [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]" for c in "bcdefghijklmnop"[:levels]]
    return "\n".join(["a: &a [x,x,x,x,x,x,x,x,x]", *rows])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(9), f"mine.yaml:5: more than {MAX_VALUES} values"),
        ("a: " + "9" * 5000, "mine.yaml:1: a whole number of 5000 digits"),
        ("[" * 3000, "nested deeper than 20"),
        ("{a: " * 3000, "nested deeper than 20"),
        ("- " * 3000, "nested deeper than 20"),
        ("a: 1\nb: 2\na: 3", "mine.yaml:3: the key 'a' is there twice, first in line 1"),
        ("a: !!python/object/apply:os.system ['true']", "the tag .* is not read"),
        ("a: !!timestamp 2026-01-01", "the tag .* is not read"),
        ("a: &x [*x]", r"the alias \*'x' stands for nothing"),
        ("? [1]\n: 2", "a key is text"),
        ("a: {<<: {b: 1}}", "merge keys"),
        ("a: 1\n--- \nb: 2", "a second document"),
        ("a: \x00", "not readable as YAML"),
        ("a: [1", "not readable as YAML"),
        ("a:\n\tb: 1", "not readable as YAML: .* there is a tab"),
    ],
)
def test_what_is_not_read_is_named_with_its_line(text, message):
    with pytest.raises(DescriptionError, match=message) as error:
        parse(text, "mine.yaml")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("data", [b"\xff\xfe\x00a", b"a: \xc3\x28", b"just text", b"", b"[1]", b"# nothing"])
def test_files_without_a_mapping_are_refused(tmp_path, data):
    (tmp_path / "mine.yaml").write_bytes(data)
    with pytest.raises(DescriptionError, match="mine.yaml"):
        read_yaml(tmp_path / "mine.yaml")


def test_a_value_is_shown_in_a_few_characters_whatever_it_is():
    deep = parse(bomb(3), "mine.yaml")
    for value in (deep, deep["d"], "x" * 10**6, 10**400, list(range(10**5)), {"a": {"b": {"c": {}}}}, "a\nb"):
        text = shortened(value)
        assert len(text) <= 120
        assert "\n" not in text
    assert shortened("9 mm") == "'9 mm'"
