#!/usr/bin/env bash
# Writes the page about all nights in the folder NIGHTS, and says in the job's summary what has moved. A regression fails the job, and so does
# what is gone; too few nights do not.
set -euo pipefail

"$PROGRAM" report "$NIGHTS" --index
code=0
told=$("$PROGRAM" trend "$NIGHTS") || code=$? # what it says of itself goes to the job's log
printf '%s\n' "$told" | tee "$NIGHTS/trend.txt"
printf '%s\n' "## The last nights" "" '```' "$told" '```' >> "$GITHUB_STEP_SUMMARY"
last=$(tail -n 1 <<< "$told")
case $code:$last in
  0:*) ;;
  5:"too few nights"*) echo "::notice title=The last nights::$last" ;;
  *)
    echo "::error title=The last nights::${last:-They could not be compared}"
    exit "$code"
    ;;
esac
