#!/usr/bin/env bash
# May the candidate be launched? The exit code decides, and the folder keeps the evidence:
#
#   bash gate.sh scored.parquet evidence
#
# The exit code is that of surelift: 0 certified, 3 not certified, 4 the log is not fit, 2 asked wrongly, 1 a fault.
# The folder gets gate.txt and summary.md always, certificate.json and gate.html with an answer (0 or 3).
set -uo pipefail

# The question, to be fixed before anyone looks at the rounds.
question=(
  --reward click --propensity propensity --policy new=p_new --delta 0.05
  --guardrail complaint:at-most-worse=0.05:cost
)

wrong() { echo "gate.sh: $1" >&2; exit 2; }
[ $# -eq 2 ] || wrong "say: bash gate.sh LOG FOLDER, the scored log and the folder for the evidence."
log="$1" evidence="$2"
command -v surelift > /dev/null ||
  wrong "there is no command surelift; install it from its wheel (pip install surelift-*.whl) or its sources (pip install .)."
mkdir -p "$evidence" || wrong "the folder $evidence cannot be made."
# An earlier run's certificate must not pass for this one's.
rm -f "$evidence"/{certificate.json,gate.html,gate.txt,summary.md} || wrong "$evidence holds files that cannot be replaced."

surelift gate "$log" "${question[@]}" --certificate "$evidence/certificate.json" --html "$evidence/gate.html" 2>&1 |
  tee "$evidence/gate.txt"
code=${PIPESTATUS[0]}

case $code in
  0) verdict="Certified: the candidate may be launched." ;;
  3) verdict="Not certified: keep production." ;;
  4) verdict="The log is not fit for a guarantee: mend the logging first. This says nothing about the candidate." ;;
  2) verdict="The gate was asked wrongly: mend the command or the files it names. This says nothing about the candidate." ;;
  *) verdict="The gate itself failed (exit code $code). This says nothing about the candidate." ;;
esac
{ printf '### %s\n\n```\n' "$verdict"; cat "$evidence/gate.txt"; printf '```\n'; } > "$evidence/summary.md"
# GitHub shows this file on the page of the run; elsewhere the variable is not set.
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$evidence/summary.md" >> "$GITHUB_STEP_SUMMARY"
echo "gate.sh: $verdict"
exit "$code"
