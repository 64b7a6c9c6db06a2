#!/usr/bin/env bash
# Fetches the newest certificate called ARTIFACT that a night of this branch was content with into the folder INTO. If no night has kept
# one yet, it writes found=false. A certificate that was kept and cannot be fetched is a failure.
set -euo pipefail

# Artifacts of a fork's pull request, and of an earlier attempt of this run, do not count.
newest='[.artifacts[]
  | select(.expired | not)
  | select(.workflow_run.head_branch == env.GITHUB_REF_NAME and .workflow_run.head_repository_id == .workflow_run.repository_id)
  | select((.workflow_run.id | tostring) != env.GITHUB_RUN_ID)]
  | max_by(.created_at) | .id // empty'
id=$(gh api "repos/$GITHUB_REPOSITORY/actions/artifacts?name=$ARTIFACT&per_page=100" --jq "$newest")
if [ -z "$id" ]; then
  echo "found=false" >> "$GITHUB_OUTPUT"
  exit 0
fi
mkdir -p "$INTO"
gh api "repos/$GITHUB_REPOSITORY/actions/artifacts/$id/zip" > "$INTO/artifact.zip"
unzip -q -o "$INTO/artifact.zip" -d "$INTO"
test -s "$INTO/certificate.json"
echo "found=true" >> "$GITHUB_OUTPUT"
