#!/usr/bin/env bash
# Copies what later nights need of this one from the folder TONIGHT, which has the artifacts of the other jobs, into the folder KEEP: what
# each run and certificate came to, and its page, to which the index of the nights leads; without their records. A night of which there is nothing to
# keep is a failure.
#
# The page of a run of 23 scenarios was measured at 1.3 MB, and at 0.25 MB in an artifact, which is compressed. So a night with two runs of all 160
# scenarios takes about 22 MB, and a hundred of them 2.2 GB of a runner's disk and 0.4 GB in an artifact.
set -euo pipefail

mkdir -p "$KEEP"
keep=$(realpath "$KEEP")
cd "$TONIGHT"
# The links latest and last-attempt were uploaded as copies.
find . \( -name latest -o -name last-attempt \) -prune -o \
  -type f \( -name run.json -o -name report.json -o -name report.html -o -name certificate.json -o -name certificate.html \) -print0 |
  while IFS= read -r -d '' file; do
    mkdir -p "$keep/$(dirname "$file")"
    cp "$file" "$keep/$file"
  done
if [ -z "$(ls -A "$keep")" ]; then
  echo "::error::no job of this night has left a run or a certificate"
  exit 1
fi
