"""Log a comparison, its page and its certificate as a run of MLflow.

python track.py scored.parquet    (columns reward, propensity and p_new; needs mlflow-skinny and the extra report)
"""

import sys

import mlflow

import surelift as sl

result = sl.compare(sl.Logs(sys.argv[1], reward="reward", propensity="propensity"), {"new": "p_new"})

with mlflow.start_run():
    mlflow.log_metrics(
        {"estimate": result.estimate, "lower": result.lower, "upper": result.upper, "certified": result.certified}
    )
    mlflow.log_text(result.to_html(), "result.html")
    mlflow.log_dict(sl.Certificate.of(result).content, "certificate.json")
