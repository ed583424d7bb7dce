"""One party's workers, for `run.sh`: `driver.py ADDRESS FOLDER PROGRAM`. It answers a line with a line, and ends with
its input."""

from __future__ import annotations

import dataclasses
import json
import sys

import ray

import slvr.ray


def main() -> None:
    address, folder, program = sys.argv[1:]
    # Ray writes what it has to say to the output, too.
    answers, sys.stdout = sys.stdout, sys.stderr
    held = []
    with slvr.ray.Workers(address, 2, cpus=1, memory=100 << 20, folder=folder, program=program) as workers:
        for line in sys.stdin:
            match line.split():
                case ["wait"]:
                    states = workers.wait()
                    print(json.dumps([dataclasses.asdict(state) for state in states]), file=answers, flush=True)
                case ["put", word]:
                    held.append(ray.put(bytes.fromhex(word) * 20_000))
                    print("{}", file=answers, flush=True)


main()
