#!/usr/bin/env bash
# Installs what Merak needs, by package name: Debian packages, and a virtual
# environment in .venv with the torch wheel. Does nothing, quickly, where all is
# there. `--dev` adds what work on Merak needs (requirements-dev.txt).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache pkg-config python3 python3-venv
  libgloo-dev libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev
  nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev libpcre2-dev
)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || printf '%s\n' "$package"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null ||
    die "this system has no apt-get; install what corresponds to: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "needs root for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# A stamp of the requirements says what the environment holds.
install_python() {
  local stamp=".venv/requirements.$1" file="$2"
  if [ -f "$stamp" ] && cmp -s "$stamp" "$file"; then return; fi
  [ -x .venv/bin/python ] || python3 -m venv .venv
  say "installing $file"
  .venv/bin/pip install --quiet --disable-pip-version-check -r "$file" >&2
  cp "$file" "$stamp"
}

install_packages
install_python run requirements.txt
for argument in "$@"; do
  case "$argument" in
    --dev) install_python dev requirements-dev.txt ;;
    *) die "unknown option $argument; there is --dev" ;;
  esac
done
