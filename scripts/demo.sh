#!/usr/bin/env bash
# Trains the demo (examples/demo/austen.toml) on local ranks and shows a sample.
# Each time from the start: the run folder of the time before is removed.
set -euo pipefail
cd "$(dirname "$0")/.."

merak=build/release/merak
config=examples/demo/austen.toml
run=runs/austen

if [ ! -x "$merak" ]; then
  printf 'demo: no %s; run "make demo", which builds it first\n' "$merak" >&2
  exit 1
fi
scripts/fetch_demo_data.sh
rm -rf "$run"
"$merak" train "$config"
printf '\na sample:\n'
"$merak" generate "$run" --prompt "It is a truth universally acknowledged, that" \
  --max-new-tokens 60 --temperature 0.8 --seed 7
printf '\nthe run lies in %s: metrics.jsonl, tensorboard/, checkpoints/\n' "$run"
