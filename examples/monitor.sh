#!/usr/bin/env bash
# Count the log files that arrived, and send a message when the verdict changes, or when something is wrong.
#
# LOGS   the folder of the log files, one per day, whose names sort by time (day-2026-03-01.parquet)
# STATE  a folder of its own, for what was counted and what was told
# REPORT a page of HTML to write each time (extra report); may be left out
# TELL   the command that gets the message on its standard input; without one, it is printed: cron mails it, systemd
#        keeps it in the journal
#
# For cron: surelift-monitor.cron. For systemd: surelift-monitor.service and surelift-monitor.timer.
# A file is counted once, by its name and by its rounds: files may stay, or be moved away, before or after a crash.
# Write them under another name and rename them: a file that grows while it is read is refused.
set -uo pipefail

# The question, to be fixed before anyone looks at the rounds. It is asked by the first run, and may not change later.
question=(--reward click --propensity propensity --time time --policy new=p_new)

wrong() { echo "monitor.sh: $1" >&2; exit 2; }
logs="${LOGS:-}" state="${STATE:-}" tell="${TELL:-cat}"
[ -d "$logs" ] || wrong "LOGS must name the folder of the log files; it is '$logs'."
[ -d "$state" ] || wrong "STATE must name a folder for the counts; it is '$state'. Make it first."

command -v flock > /dev/null || wrong "there is no command flock; it is in the package util-linux."

# One run at a time. The lock ends with the processes that hold it, however they end.
exec 9> "$state/.lock" || wrong "$state cannot be written."
flock --nonblock 9 || { echo "monitor.sh: another run is at work on $state; nothing was done." >&2; exit 75; }

surelift monitor "$logs" --state "$state/state.json" "${question[@]}" ${REPORT:+--html "$REPORT"} > "$state/last.log" 2>&1
code=$?
case $code in
  0) verdict=certified ;;
  3) verdict=open; ! grep -q '^Worse: ' "$state/last.log" || verdict=worse ;;
  *) verdict="failed with exit code $code" ;;
esac

send() { { echo "surelift monitor: $1"; cat "$state/last.log"; } | bash -c "$tell" 9>&-; }
unsent() { echo "monitor.sh: the message could not be sent; the next run tries again." >&2; exit 1; }
if [ "$code" -ne 0 ] && [ "$code" -ne 3 ]; then
  send "$verdict" || unsent
  exit "$code"
fi
# The verdict is written down once it was told: after a crash it is told twice rather than never.
told="$(cat "$state/told" 2> /dev/null || echo open)"
if [ "$verdict" != "$told" ]; then
  send "$verdict, before it was $told" || unsent
  echo "$verdict" > "$state/told.new" && mv "$state/told.new" "$state/told"
fi
