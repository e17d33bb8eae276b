#!/bin/sh
# Calls POST /-/tick of a served Reprise again and again: one call at a time, at once while there is work left, and with a
# word on the standard error only when calls begin to fail, fail in another way, or work again.
#
#   REPRISE_URL           where it is served; default: http://127.0.0.1:3000
#   REPRISE_TICK_HEADER   a file with one line, "Authorization: Bearer <admin_token>". It is a file because everybody on
#                         the machine can read a process's arguments.
#   REPRISE_TICK_SECONDS  the time between two ticks; default: 1
#   REPRISE_TICK_FOR      end after this many seconds, for what is itself started by a clock; default: never
set -eu

url=${REPRISE_URL:-http://127.0.0.1:3000}
header=${REPRISE_TICK_HEADER:?names no file}
[ -r "$header" ] || { echo "tick: cannot read $header" >&2; exit 2; }
pause=${REPRISE_TICK_SECONDS:-1}
begun=$(date +%s)
trouble=

# A pod or a unit is told to end with SIGTERM, which a shell that is the first process of a container would ignore.
trap 'exit 0' INT TERM

while [ -z "${REPRISE_TICK_FOR:-}" ] || [ $(($(date +%s) - begun)) -lt "$REPRISE_TICK_FOR" ]; do
    # A tick ends by itself after some seconds of work; it may take longer only by what one attempt may take.
    if answer=$(curl --silent --show-error --fail --max-time 1200 --request POST --header "@$header" "$url/-/tick" 2>&1)
    then
        [ -z "$trouble" ] || echo 'tick: works again' >&2
        trouble=
        case $answer in
            *'"come_back_ms":0'[',}']*) continue ;;
        esac
    else
        # How long it took to fail is no news.
        answer=$(printf '%s\n' "$answer" | sed 's/ after [0-9]* m[a-z]*//')
        [ "$answer" = "$trouble" ] || echo "tick: $answer" >&2
        trouble=$answer
    fi
    # In the background, so that a signal need not wait for its end.
    sleep "$pause" &
    wait $!
done
