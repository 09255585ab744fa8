"""Episodes that RLlib wrote as Parquet, as one table for surelift, with the step of each row in its episode.

    config.env_runners(batch_mode="complete_episodes").offline_data(output="episodes", output_write_episodes=False)
    python rllib_log.py episodes log.parquet
    surelift compare log.parquet --reward rewards --log-propensity action_logp --cluster eps_id --cluster-max 200 \\
        --position t --policy new=p_new

Ray spreads the rows over many files, in the order of their names.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

if len(sys.argv) != 3:
    sys.exit("say: python rllib_log.py FOLDER LOG.parquet, the folder that RLlib wrote and the table to write.")
files = sorted(Path(sys.argv[1]).rglob("*.parquet"))
if not files:
    sys.exit(f"there is no Parquet file in {sys.argv[1]}; nothing was written.")
rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
episodes: dict[str, list] = {}
for row in rows:
    steps = episodes.setdefault(row["eps_id"], [])
    if steps and (steps[-1]["new_obs"] != row["obs"] or steps[-1]["terminateds"] or steps[-1]["truncateds"]):
        sys.exit(f"a step of episode {row['eps_id']} does not follow the one before it; are all files of the run here?")
    steps.append({**row, "t": len(steps)})
unfinished = [name for name, steps in episodes.items() if not (steps[-1]["terminateds"] or steps[-1]["truncateds"])]
if unfinished:
    sys.exit(f"{len(unfinished)} episodes break off, the first is {unfinished[0]}; write complete ones (batch_mode).")
pq.write_table(pa.Table.from_pylist([step for steps in episodes.values() for step in steps]), sys.argv[2])
