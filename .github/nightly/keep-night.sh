#!/usr/bin/env bash
# Copies what later nights need of this one from the folder TONIGHT, which has the artifacts of the other jobs, into the folder KEEP: what
# each run and certificate came to, without their records. A night of which there is nothing to keep is a failure.
set -euo pipefail

mkdir -p "$KEEP"
keep=$(realpath "$KEEP")
cd "$TONIGHT"
# The links latest and last-attempt were uploaded as copies.
find . \( -name latest -o -name last-attempt \) -prune -o \
  -type f \( -name run.json -o -name report.json -o -name certificate.json \) -exec cp --parents -t "$keep" {} +
if [ -z "$(ls -A "$keep")" ]; then
  echo "::error::no job of this night has left a run or a certificate"
  exit 1
fi
