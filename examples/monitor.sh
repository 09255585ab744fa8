#!/usr/bin/env bash
# Count new log files, and send a message once the candidate is certified, or if the logs are not fit. For cron, once a day:
#
#   15 5 * * *  LOGS=/srv/logs STATE=/srv/surelift /srv/surelift/monitor.sh
#
# LOGS is the folder of Parquet files, one per day; STATE is a folder for the counts; TELL is the command that gets the message.
set -uo pipefail
logs="${LOGS:?the folder of the logs}" state="${STATE:?a folder for the state}" tell="${TELL:-cat}"

surelift monitor "$logs" --state "$state/state.json" --reward click --propensity propensity --policy new=p_new \
  --html "$state/report.html" > "$state/last.log" 2>&1
code=$?
case $code in
  0) # only once: the file 'told' remembers that the message was sent
    [ -e "$state/told" ] || { $tell < "$state/last.log" && touch "$state/told"; } ;;
  3) ;; # not certified yet: no message
  *) { echo "surelift monitor failed (exit code $code):"; cat "$state/last.log"; } | $tell; exit "$code" ;;
esac
