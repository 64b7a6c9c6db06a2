#!/usr/bin/env bash
# Compares the certificate in the folder NEW with that in LAST, if one was FOUND. A regression is named in the job's summary, and
# fails the job.
set -euo pipefail

say() { printf '%s\n' "$@" >> "$GITHUB_STEP_SUMMARY"; }

say "## $FROM to $TO, compared with the last certificate" ""
if [ ! -s "$NEW/certificate.json" ]; then
  say "Nothing to compare: this run has no certificate."
  exit 1
fi
if [ "$FOUND" != true ]; then
  say "Nothing to compare with: no earlier night has a certificate of these versions. This one is the first."
  exit 0
fi
code=0
told=$("$PROGRAM" diff "$LAST" "$NEW") || code=$? # what it says of itself goes to the job's log
printf '%s\n' "$told"
last=$(tail -n 1 <<< "$told") # names the scenarios that regressed
if [ "$code" != 0 ]; then
  say "**${last:-They could not be compared}**" ""
  echo "::error title=$FROM to $TO, compared with the last certificate::${last:-They could not be compared}"
fi
say '```' "$told" '```'
exit "$code"
