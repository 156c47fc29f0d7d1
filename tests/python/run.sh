#!/bin/sh
# Tests the Python files: run.sh PROGRAM FOLDER_OF_MAN_PAGES. Prints a line for each skipped test.
set -eu
cd "$(dirname "$0")"
export ATTN_EXPLAIN="$1" ATTN_MAN_PAGES="$2"
python=${PYTHON:-/usr/bin/python3}
for module in numpy torch ipykernel nbconvert pytest mypy venv; do
    "$python" -c "import $module" 2>/dev/null && continue
    echo "SKIPPED: the Python files were not tried: $python has no $module (.ci/setup --python)"
    exit 77
done
"$python" -m mypy --strict --cache-dir=/dev/null ../../app/python/*.py
if command -v black >/dev/null; then black -q -l 100 --check ../../app/python *.py; fi
"$python" -m pytest -q -p no:cacheprovider .
