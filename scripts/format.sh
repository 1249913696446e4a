#!/usr/bin/env bash
# Formats every C++ file with the pinned clang-format; with --check only says
# which ones differ.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.h' '*.cpp')
if [ "${1:-}" = "--check" ]; then
  .venv/bin/clang-format --dry-run --Werror "${files[@]}"
else
  .venv/bin/clang-format -i "${files[@]}"
fi
