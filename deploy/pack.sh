#!/bin/sh
# Puts what a production host needs into one folder: the component, its configuration, its pages, and a manifest without
# the payment sandbox.
#
#   deploy/pack.sh DIR [COMPONENT]
#
# COMPONENT is the built component; default: where `cargo xtask wasm` puts it. In the manifest that comes out, what has a
# default only for trying out has none any more: a host without `payment_api_url` and `webhook_secret` does not start.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: deploy/pack.sh DIR [COMPONENT]" >&2
    exit 2
fi
into=$1
root=$(cd -P "$(dirname "$0")/.." && pwd -P)
component=${2:-$root/target/wasm32-wasip2/release/reprise.wasm}
if [ -e "$into" ]; then
    echo "pack: $into is there already; pack into a new folder, and swap the two" >&2
    # A server without `--state-dir` has its store beside its manifest.
    if [ -e "$into/.spin" ]; then
        echo "pack: do not remove it: the store with every key is in $into/.spin" >&2
    fi
    exit 2
fi
[ -r "$component" ] || { echo "pack: no component at $component; cargo xtask wasm builds it" >&2; exit 2; }

mkdir -p "$into"
cp "$component" "$into/reprise.wasm"
cp "$root/reprise.toml" "$root/openapi.yaml" "$into"
cp -R "$root/src/shell/console" "$into/console"

# A manifest is paragraphs. Those of the sandbox go, and so do those that say how to build, since what is packed is built.
awk '
    BEGIN { RS = ""; ORS = "\n\n" }
    /\ncomponent = "payment-sandbox"/ || /^\[component\.payment-sandbox/ || /^\[component\.reprise\.build\]/ { next }
    {
        sub(/source = "target\/[^"]*"/, "source = \"reprise.wasm\"")
        sub(/"src\/shell\/console"/, "\"console\"")
        sub(/\n# The payment API[^\n]*\npayment_api_url = [^\n]*/, \
            "\n# The payment API: scheme, host and port.\npayment_api_url = { required = true }")
        sub(/\n# What events are signed with[^\n]*\nwebhook_secret = [^\n]*/, \
            "\n# What events are signed with: whsec_ and the Base64 of 24 to 64 random bytes.\nwebhook_secret = { required = true, secret = true }")
        print
    }
' "$root/spin.toml" >"$into/spin.toml"

# A manifest that was written in another way must not pass with the sandbox in it.
if grep -q 'payment-sandbox' "$into/spin.toml"; then
    echo "pack: the sandbox is still in the manifest" >&2
    exit 1
fi
echo "Packed into $into: set upstream_path and the rest of your API in $into/reprise.toml."
