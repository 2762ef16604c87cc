#!/usr/bin/env bash
# Run the audits, and say which verdict they come to, where the report is, and how pytest ended.
# With `gate: passes` the exit code is the verdict, with `failures` it is pytest's own, with `never`
# it is 0. A run that leaves no report is red, whatever the gate is.
set -euo pipefail

case "$GATE" in
passes | failures | never) ;;
*)
    echo "::error::gate is '$GATE', allowed: passes, failures or never"
    exit 4
    ;;
esac

# Outside of the checkout: nothing that a pull request brings is taken for scores or reports.
reports=$KEPT/reports
rm -rf "$reports" # of an earlier run
mkdir -p "$reports"
options=(--rm-report "$reports" --rm-cache "$KEPT/cache")
[ "$GATE" != passes ] || options+=(--rm-gate)
[ -z "$MODEL" ] || options+=(--model "$MODEL")
[ -z "$BASELINE" ] || options+=(--rm-baseline "$BASELINE")
[ -z "$SAMPLE" ] || options+=(--rm-sample "$SAMPLE")
while IFS= read -r line; do
    [ -z "$line" ] || options+=("$line")
done <<<"$OPTIONS"

python -m pytest "$AUDITS" "${options[@]}" && code=0 || code=$?
report=$(ls "$reports" | tail -n 1)
if [ -z "$report" ] || [ ! -f "$reports/$report/results.json" ]; then
    echo "::error::the audits left no report; pytest ended with $code, and says above why"
    exit 3
fi

verdict=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["verdict"]["outcome"])' \
    "$reports/$report/results.json")
{
    echo "verdict=$verdict"
    echo "report=$reports/$report"
    echo "code=$code"
} >>"$GITHUB_OUTPUT"
# Python may have been ended with 0 after the report was written.
[ "$GATE" != passes ] || [ "$verdict" = PASSES ] || [ "$code" != 0 ] || code=1
[ "$GATE" != never ] || code=0
exit "$code"
