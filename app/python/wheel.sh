#!/bin/sh
# Writes a wheel: wheel.sh PROGRAM FOLDER_OF_MAN_PAGES VERSION PLATFORMS OUTPUT_FOLDER
#
# PLATFORMS are the platform tags of the wheel, such as manylinux_2_17_x86_64.musllinux_1_1_x86_64.
# A static program needs no library, and runs on Linux 3.2, which all these systems have.
set -eu
program=$1 man=$2 version=$3 platforms=$4
mkdir -p "$5"
output=$(cd "$5" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
name=attn_explain-$version
tree=$(mktemp -d)
trap 'rm -rf "$tree" "$tree.files" "$tree.record"' EXIT

mkdir -p "$tree/$name.data/scripts" "$tree/$name.data/data/share/man/man1" "$tree/$name.dist-info"
cp "$here"/attn_*.py "$tree"
# The types of a module that is one file are in a package of their own (PEP 561).
mkdir "$tree/attn_explain-stubs"
"$program" completions python > "$tree/attn_explain-stubs/__init__.pyi"
: > "$tree/attn_explain-stubs/py.typed"
cp "$man"/*.1 "$tree/$name.data/data/share/man/man1"
cp "$program" "$tree/$name.data/scripts/attn-explain"
strip "$tree/$name.data/scripts/attn-explain"
chmod 755 "$tree/$name.data/scripts/attn-explain"
cp "$here/../../LICENSE" "$tree/$name.dist-info"
cat > "$tree/$name.dist-info/METADATA" <<END
Metadata-Version: 2.1
Name: attn-explain
Version: $version
Summary: Attention, step by step, correct to the last digit
License: MIT
Requires-Python: >=3.9
END
{
    printf 'Wheel-Version: 1.0\nGenerator: attn-explain\nRoot-Is-Purelib: false\n'
    echo "$platforms" | tr . '\n' | sed 's/^/Tag: py3-none-/'
} > "$tree/$name.dist-info/WHEEL"

# For each file: its name, its SHA-256 in the encoding of wheels, its size.
cd "$tree"
find . -type f | sed 's,^\./,,' | LC_ALL=C sort | while read -r file; do
    bytes=$(sha256sum "$file" | cut -c1-64 | sed 's/../\\x&/g')
    hash=$(env printf "$bytes" | base64 | tr '+/' '-_' | tr -d '=')
    echo "$file,sha256=$hash,$(wc -c < "$file")"
done > "$tree.record"
mv "$tree.record" "$name.dist-info/RECORD"
echo "$name.dist-info/RECORD,," >> "$name.dist-info/RECORD"

wheel=$output/$name-py3-none-$platforms.whl
rm -f "$output/$name"-*.whl
find ./* -type f | sed 's,^\./,,' > "$tree.files"
cmake -E tar cf "$wheel" --format=zip --files-from="$tree.files"
echo "$wheel"
