"""Stands in for SOFA's process: it answers the questions of `soft_twin.twins.sofa` by our own finite elements.

What it does wrong is asked for by the environment variable FAULT: "no_sofa", "dies", "hangs", "slow", "nan", "error";
and after how many questions by AFTER.
"""

import os
import sys
import time
from multiprocessing.connection import Connection

import numpy as np

from soft_twin.twins.sofa.worker import receive, send

FAULT, AFTER = os.environ.get("FAULT", ""), int(os.environ.get("AFTER", "3"))  # questions


def main() -> None:
    if FAULT == "no_sofa":
        raise ImportError("No module named 'Sofa'")
    connection, scene, asked = Connection(int(sys.argv[1])), None, 0
    while True:
        try:
            values, arrays = receive(connection)
        except EOFError:
            return
        question = values.pop("ask")
        asked += 1
        if asked > AFTER and FAULT:
            misbehave(connection)
        elif question == "start":
            if not FAULT or AFTER > 1:
                from own_steps import Scene  # half a second, which who only goes wrong does not take

                scene = Scene(values, arrays)
            send(connection, {"inverse": os.environ.get("OWN_INVERSE") == "1", "version": "99.12.01"})
        else:
            send(connection, {}, scene.answer(question, values, arrays))


def misbehave(connection: Connection) -> None:
    if FAULT == "dies":
        print("a component was not where it was thought to be", file=sys.stderr)
        os.abort()
    elif FAULT == "hangs":
        time.sleep(60.0)
    elif FAULT == "slow":
        time.sleep(2.0)
        send(connection, {}, {"steps": np.zeros(1)})
    elif FAULT == "nan":
        send(connection, {}, {"steps": np.array([np.nan])})
    else:
        send(connection, {"error": "ValueError: no such thing"})


if __name__ == "__main__":
    main()
