#!/bin/sh
# Builds the core of live pages and the package for node from these sources, without touching
# data/live, compares both with the program, and runs the packed file by npx:
#
#     tests/web/build_core.sh build/dev/app/attn-explain
#
# Exits with 77 (skipped) if there is no emscripten or no node.
set -eu
program=$1
for tool in emcc node; do
    command -v "$tool" >/dev/null && continue
    echo "SKIPPED: the core of live pages was not built: there is no $tool"
    exit 77
done
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Outside the folder in which the assembler runs, where it would be taken for the committed core.
mkdir "$folder/made"
export NODE_PATH=/usr/share/nodejs EM_FROZEN_CACHE=
cmake -S "$source" -B "$folder" -G Ninja -D CMAKE_BUILD_TYPE=MinSizeRel -D ATTN_CORE_FOLDER="$folder/made" \
    -D CMAKE_TOOLCHAIN_FILE=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake >/dev/null
cmake --build "$folder"
node "$(dirname "$0")/core.mjs" "$program" "$folder/made/core.wasm.gz"
cmake --build "$folder" --target npm
node "$(dirname "$0")/node.mjs" "$program" "$folder/npm"
"$(dirname "$0")/npx.sh" "$program" "$folder"/attn-explain-*.tgz
