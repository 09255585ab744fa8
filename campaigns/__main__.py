"""python -m campaigns NAME... --size SIZE --seed SEED: search for trouble, and end with "N tried, M wrong"."""

import argparse
import os
import sys

from campaigns.campaign import Case, module_of, names, outcome, run


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("name", nargs="+", help=f"all, or some of: {', '.join(names())}")
    parser.add_argument("--size", default="slice", help="slice (minutes), full (an hour or two), or a number of cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--case", type=int, help="this case alone, in this process")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    chosen = names() if asked.name == ["all"] else asked.name
    if asked.case is not None:
        said = outcome(module_of(chosen[0]), Case(chosen[0], asked.seed, asked.case))
        print("right" if said is None else said)
        return int(isinstance(said, str))
    tallies = []
    for name in chosen:
        tallies.append(run(name, size=asked.size, seed=asked.seed, jobs=asked.jobs))
        print(tallies[-1], flush=True)
    if len(tallies) > 1:
        print("\n".join(map(str, tallies)))
    return int(any(tally.wrong for tally in tallies))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
