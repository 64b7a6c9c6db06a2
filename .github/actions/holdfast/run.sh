#!/usr/bin/env bash
# Runs scenarios, or certifies an upgrade; tells the verdict, and ends as holdfast does.
set -euo pipefail

into=$(mktemp -d "$RUNNER_TEMP/holdfast-XXXXXX") # an action can be used more than once in a job
if [ -n "$FROM$TO" ]; then
  command=(certify --from "$FROM" --to "$TO" --profile "$PROFILE" --artifacts "$into")
else
  read -r -d '' -a names <<< "$SCENARIOS" || true # it ends at the end of the text
  command=(run --scope "$SCOPE" --artifacts "$into")
  if [ -n "$KUBERNETES" ]; then command+=(--kubernetes "$KUBERNETES"); fi
  command+=(-- ${names[@]+"${names[@]}"}) # bash 3.2, which macOS has, takes an empty array for an unset variable
fi

code=0
"$PROGRAM" "${command[@]}" || code=$?

case $code in
  0) verdict=held ;;
  1) verdict=violated ;;
  4) verdict=usage ;;
  5) verdict=unknown ;;
  130 | 143) verdict=interrupted ;;
  *) verdict=failed ;; # 2, too: that is a crash of the program
esac
artifacts="" report=""
if [ -e "$into/last-attempt" ]; then
  artifacts=$(readlink -f "$into/last-attempt")
  for form in certificate.md report.md; do
    if [ -z "$report" ] && [ -s "$artifacts/$form" ]; then report="$artifacts/$form"; fi
  done
fi
if [ "$code" = 0 ] && [ -z "$report" ]; then # nothing is left that could show it
  verdict=failed code=3
fi
{
  echo "verdict=$verdict"
  echo "artifacts=$artifacts"
  echo "report=$report"
} >> "$GITHUB_OUTPUT"
if [ -n "$report" ]; then
  head -c 1000000 "$report" >> "$GITHUB_STEP_SUMMARY" # a summary of more than 1 MiB is refused
fi
exit "$code"
