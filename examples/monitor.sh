#!/usr/bin/env bash
# Count yesterday's logs and tell when the candidate is certified, or the logs are not fit. For cron, once a day:
#
#   15 5 * * *  LOGS=/srv/logs STATE=/srv/surelift /srv/surelift/monitor.sh
#
# LOGS holds one Parquet file a day; STATE is a folder for what was counted. TELL is the command that gets the message.
set -uo pipefail
logs="${LOGS:?the folder of the logs}" state="${STATE:?a folder for the state}" tell="${TELL:-cat}"

surelift monitor "$logs" --state "$state/state.json" --reward click --propensity propensity --policy new=p_new \
  --html "$state/report.html" > "$state/last.log" 2>&1
code=$?
case $code in
  0) # once: the state remembers the rounds, this file that it was told
    [ -e "$state/told" ] || { $tell < "$state/last.log" && touch "$state/told"; } ;;
  3) ;; # not certified yet: nothing to tell
  *) { echo "surelift monitor failed (exit code $code):"; cat "$state/last.log"; } | $tell; exit "$code" ;;
esac
