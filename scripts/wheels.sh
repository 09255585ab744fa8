#!/usr/bin/env bash
# Build the source archive and the wheel of a release, and try the wheel on every Python at hand: make wheels, or
#   bash scripts/wheels.sh [FOLDER]
# Pythons are looked for on the PATH and among those of pyenv. The wheel is made with zig, so that it runs on any Linux with
# glibc 2.17: one that the machine's own compiler makes is refused by an index.
set -euo pipefail
folder="${1:-dist}"
dist="$(mkdir -p "$folder" && cd "$folder" && pwd)"
cd "$(dirname "$0")/.."

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
quietly() { "$@" > "$scratch/log" 2>&1 || { tail -n 60 "$scratch/log"; exit 1; }; }

"${PYTHON:-python3}" -m venv "$scratch/builder"
builder="$scratch/builder/bin"
quietly "$builder/pip" install --upgrade pip hatchling twine
rm -f "$dist"/surelift-*.whl "$dist"/surelift-*.tar.gz
quietly "$builder/hatchling" build --target sdist --directory "$dist"
quietly env SURELIFT_COMPILER=zig "$builder/pip" wheel --no-deps --wheel-dir "$dist" "$dist"/surelift-*.tar.gz
"$builder/twine" check --strict "$dist"/surelift-*
wheel="$(ls "$dist"/surelift-*.whl)"
case "$wheel" in
  *-linux_*) echo "$wheel is for this machine only, and no index would take it." >&2; exit 1 ;;
esac

tried=0
for version in 3.11 3.12 3.13 3.14 3.15; do
  for python in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
    "$python" -c 'import sys; print("Python", sys.version.split()[0])' 2> /dev/null || continue
    "$python" -m venv --without-pip "$scratch/$version"
    # What constraints.txt names was made for Python 3.14 at most.
    [ "$version" = 3.15 ] && constrained=() || constrained=(--constraint constraints.txt)
    quietly "$builder/pip" --python "$scratch/$version" install --no-compile --only-binary :all: "${constrained[@]}" "$wheel"
    command="$scratch/$version/bin/surelift"
    "$command" --version | grep -E 'loops: (baseline|avx2|avx512)'
    quietly "$command" demo --output "$scratch/demo"
    quietly "$command" verify "$scratch/demo/certificate.json" "$scratch/demo/shop.parquet"
    tried=$((tried + 1))
    break
  done
done
if [ "$tried" = 0 ]; then echo "There is no Python from 3.11 on to try the wheel with." >&2; exit 1; fi
echo "$tried Pythons ran the demo from ${wheel##*/}."
