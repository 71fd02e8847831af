#!/bin/sh
# Tries every program of this folder without atomvet: what each prints, that it ends, and whether it is free of races.
#
#   tests/programs/try.sh [NAME...]      names such as bank or bank_bad; all programs without one
#
# For each program and each compiler that is installed, at -O0 and -O2: 20 runs, each of which must end with status 0
# within 10 seconds and print exactly the line of the `prints` header. Then with ThreadSanitizer, 5 runs: silent if the
# header says race-free, a report if it says not. `try.sh --lines` only rewrites the line numbers of the headers from the
# marks in the source. Exit status 0 if all is as expected.
#
# Environment: ATOMVET_INCLUDE (folder of atomvet.h, default include/ of the repository), RUNS, TSAN_RUNS.

set -u
here=$(cd "$(dirname "$0")" && pwd)
include=${ATOMVET_INCLUDE:-$here/../../include}
runs=${RUNS:-20}
tsan_runs=${TSAN_RUNS:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# header FILE FIELD: the value of `// FIELD: value` in the comment at the top of the file.
header() {
    sed -n "/^#include/q;s|^// $2: ||p" "$1"
}

# marked FILE WORD: the numbers of the lines that end with the mark `// WORD`.
marked() {
    grep -n " // $2\$" "$1" | cut -d: -f1 | tr '\n' ' ' | sed 's/ $//'
}

fail() {
    echo "$name: $*" >&2
    failures=$((failures + 1))
}

# build COMPILER FLAGS...: builds $source into $work/program. The choreography never gets the flags: it must not be
# instrumented.
build() {
    language_compiler=$1
    case $source in
    *.cpp) language_compiler=$(echo "$1" | sed 's/gcc/g++/;s/clang/clang++/') ;;
    esac
    "$1" -O2 -Wall -Wextra -Werror -c "$here/choreography.c" -o "$work/choreography.o" || return
    shift
    "$language_compiler" -g -Wall -Wextra -Werror "$@" -I "$here" -I "$include" "$source" "$work/choreography.o" \
        $(header "$source" links) -o "$work/program"
}

check_header() {
    for field in expect variable threads race-free links prints; do
        [ -n "$(header "$source" $field)" ] || fail "header lacks '$field'"
    done
    for word in leaves returns; do
        [ "$(header "$source" $word)" = "$(marked "$source" $word)" ] ||
            fail "header '$word' is not where the marks are (try.sh --lines)"
    done
    case $name in
    *_bad) header "$source" expect | grep -q '^violated ' || fail "a bad program must be violated" ;;
    *_fixed) [ "$(header "$source" expect)" = clean ] || fail "a fixed program must be clean" ;;
    esac
}

try_plain() {
    build "$@" || { fail "does not build with $*"; return; }
    run=0
    while [ $run -lt "$runs" ]; do
        printed=$(timeout 10 "$work/program" 2>&1) || { fail "$*: run $run ends with status $?"; return; }
        [ "$printed" = "$(header "$source" prints)" ] || { fail "$*: run $run prints '$printed'"; return; }
        run=$((run + 1))
    done
    verdict="$verdict ok"
}

# Address space randomisation is switched off where possible, because some kernels place mappings where ThreadSanitizer
# cannot have them.
try_tsan() {
    build "$1" -fsanitize=thread -O1 || { fail "does not build with $1 -fsanitize=thread"; return; }
    run=0
    reports=0
    while [ $run -lt "$tsan_runs" ]; do
        TSAN_OPTIONS=exitcode=66 timeout 60 $fixed_addresses "$work/program" >"$work/tsan" 2>&1
        status=$?
        grep -q 'FATAL: ThreadSanitizer' "$work/tsan" && { fail "$1: ThreadSanitizer does not start"; return; }
        case $status in
        0) ;;
        66) reports=$((reports + 1)) ;;
        *) fail "$1 -fsanitize=thread: status $status"; return ;;
        esac
        grep -qxF "$(header "$source" prints)" "$work/tsan" || fail "$1 -fsanitize=thread prints something else"
        run=$((run + 1))
    done
    case $(header "$source" race-free) in
    yes) [ $reports = 0 ] || { fail "$1: ThreadSanitizer reports a race in $reports of $run runs"; cat "$work/tsan" >&2; } ;;
    no) [ $reports = $run ] || fail "$1: ThreadSanitizer reports a race in only $reports of $run runs" ;;
    esac
    verdict="$verdict $reports/$run"
}

rewrite_lines=no
[ "${1:-}" = --lines ] && { rewrite_lines=yes; shift; }

fixed_addresses=
setarch -R true 2>/dev/null && fixed_addresses="setarch -R"
compilers=
for compiler in gcc clang; do
    command -v $compiler >/dev/null && compilers="$compilers $compiler"
done

[ $rewrite_lines = yes ] || echo "columns:$(for c in $compilers; do printf ' %s-O0 %s-O2 %s-tsan-reports' $c $c $c; done)"
tried=0
for source in "$here"/c/*.c "$here"/cpp/*.cpp; do
    name=$(basename "$source" | sed 's/\.[a-z]*$//')
    if [ $# -gt 0 ]; then
        wanted=no
        for pattern in "$@"; do
            case $name in "$pattern" | "${pattern}_bad" | "${pattern}_fixed") wanted=yes ;; esac
        done
        [ $wanted = yes ] || continue
    fi
    tried=$((tried + 1))
    if [ $rewrite_lines = yes ]; then
        for word in leaves returns; do
            sed -i "s|^// $word: .*|// $word: $(marked "$source" $word)|" "$source"
        done
        continue
    fi
    check_header
    verdict=
    for compiler in $compilers; do
        try_plain $compiler -O0
        try_plain $compiler -O2
        try_tsan $compiler
    done
    printf '%-28s%s  race-free: %s\n' "$name" "$verdict" "$(header "$source" race-free)"
done
[ $tried -gt 0 ] || { echo "no program of that name" >&2; exit 2; }
echo "$tried programs, $failures failures"
[ $failures = 0 ]
