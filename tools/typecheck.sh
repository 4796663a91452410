#!/usr/bin/env bash
# Type-checks everything with mypy --strict.
#
# The wheel maps serenity_mlir.dialect_passes to dialect_passes/ and serenity_mlir.pipelines to
# pipelines/, which mypy cannot know. A tree of links in build/typed shows it the layout that
# Python sees after installation; messages are printed with the paths of the checkout.
#
# Usage: tools/typecheck.sh [mypy options]     MYPY=… names another mypy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
mypy=${MYPY:-$root/.venv/bin/mypy}
tree=$root/build/typed
[[ -x $mypy ]] || { echo "typecheck: no mypy at $mypy: run 'make install', or set MYPY" >&2; exit 1; }

link() { # link TARGET LINK: two runs at once must not undo each other's tree, so what is there stays
    [[ $(readlink "$2" || true) == "$1" ]] || ln -sfn "$1" "$2"
}

mkdir -p "$tree/serenity_mlir"
find "$tree" -xtype l -delete # a file that was moved away leaves a dangling link
for entry in serenity_mlir/*.py serenity_mlir/py.typed serenity_mlir/*/ dialect_passes pipelines; do
    entry=${entry%/}
    [[ ${entry##*/} == __pycache__ ]] || link "$root/$entry" "$tree/serenity_mlir/${entry##*/}"
done
roots=(serenity_mlir)
for scripts in tests lit_tests examples benchmarks tools; do
    # lit.cfg.py is no module, for mypy as for Python: a name has no dots.
    if [[ -n $(find "$scripts" -name '*.py' ! -name '*.*.py' -print -quit 2>/dev/null) ]]; then
        link "$root/$scripts" "$tree/$scripts"
        roots+=("$scripts")
    fi
done

cd "$tree"
"$mypy" --config-file "$root/pyproject.toml" --cache-dir "$root/.mypy_cache" "$@" "${roots[@]}" |
    sed -E 's#^serenity_mlir/(dialect_passes|pipelines)/#\1/#'
