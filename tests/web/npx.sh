#!/bin/sh
# Runs the package for node as a user does: npx with the packed file, from an empty folder and
# without a network. Output, files, pipes and exit codes must be the program's.
#
#     tests/web/npx.sh build/dev/app/attn-explain build/web/attn-explain-2.0.0.tgz
#
# Exits with 77 (skipped) if there is no npx.
set -eu
program=$(realpath "$1")
package=$(realpath "$2")
if ! command -v npx >/dev/null; then
    echo "SKIPPED: the package for node was not run: there is no npx"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/own" "$folder/npx"
cp "$package" "$folder"
package=../$(basename "$package") # npx takes a whole path for a command
# Neither the user's cache of packages nor a project around the folder is used.
export npm_config_cache="$folder/cache" npm_config_offline=true npm_config_update_notifier=false

run() { # own|npx, then the words
    if [ "$1" = own ]; then shift && "$program" "$@"; else shift && npx --yes "$package" "$@"; fi
}
for each in own npx; do
    (
        cd "$folder/$each"
        run "$each" --text 'the cat sat' --heads 2 --variant loop >walk.txt
        run "$each" --bug softmax-axis=query --variant loop -o mine.npz
        code=0
        run "$each" diagnose mine.npz --variant loop >verdict.txt || code=$?
        echo "exit code $code" >>verdict.txt
        echo '[[0.5, 0.5], [0.25, 0.75]]' | run "$each" look - >look.txt || echo "exit code $?" >>look.txt
        run "$each" --heads 0 >error.txt 2>&1 || echo "exit code $?" >>error.txt
    )
done
grep -q '^exit code 1$' "$folder/own/verdict.txt"
grep -q '^exit code 2$' "$folder/own/error.txt"
diff -r "$folder/own" "$folder/npx"
echo "npx: the packed file runs as the program does"
