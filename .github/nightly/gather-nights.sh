#!/usr/bin/env bash
# Fetches what earlier nights of this branch have kept as ARTIFACT, the newest hundred, each into a folder of its own below INTO. It is
# no failure if no night was kept yet. A night that was kept and cannot be fetched is a failure.
set -euo pipefail

# Artifacts of a fork's pull request, and of an earlier attempt of this run, do not count.
ours='.artifacts[]
  | select(.expired | not)
  | select(.workflow_run.head_branch == env.GITHUB_REF_NAME and .workflow_run.head_repository_id == .workflow_run.repository_id)
  | select((.workflow_run.id | tostring) != env.GITHUB_RUN_ID)
  | .id'
ids=$(gh api "repos/$GITHUB_REPOSITORY/actions/artifacts?name=$ARTIFACT&per_page=100" --jq "$ours")
mkdir -p "$INTO"
for id in $ids; do
  gh api "repos/$GITHUB_REPOSITORY/actions/artifacts/$id/zip" > "$INTO/$id.zip"
  unzip -q -o "$INTO/$id.zip" -d "$INTO/$id"
  rm "$INTO/$id.zip"
done
