"""The alignment of a plate's IMUs, as a file keeps it."""

from pathlib import Path

import numpy as np
import yaml

from soft_twin.descriptions.load import read_part
from soft_twin.descriptions.plate_alignment import AlignmentFile
from soft_twin.errors import RecordingError
from soft_twin.files import whole_file
from soft_twin.inverse.plate_alignment import Alignment, Rest


def read_alignment(path: str | Path) -> Alignment:
    """An alignment from its YAML file.

    Raises:
        RecordingError: there is no such file.
        DescriptionError: it is malformed.
        InputError: as Alignment.of.
    """
    content = read_part(Path(path), AlignmentFile, "alignment", RecordingError)
    return Alignment.of([Rest.of(each.base, each.plate, each.bend) for each in content.rests])


def write_alignment(path: str | Path, alignment: Alignment) -> None:
    """Write an alignment as YAML.

    Raises:
        RecordingError: the file cannot be written.
    """
    rests = [{key: list(values) for key, values in vars(rest).items()} for rest in alignment.rests]
    text = (
        "# Rests of a straight plate: gravity's direction by the IMUs of base and plate, bend [rad] by the cables\n"
        f"# IMUs turned against each other by {np.degrees(alignment.apart):.2f} deg\n"
    )
    try:
        with whole_file(Path(path)) as partial:
            partial.write_text(text + yaml.safe_dump({"rests": rests}, sort_keys=False), encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"alignment cannot be written to '{path}': {error.strerror}") from error
