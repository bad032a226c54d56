#!/usr/bin/env bash
# Lets jq read and write all JSON: a text may hold quotes, newlines or a dollar sign, and no shell should ever look at it.
set -euo pipefail

IFS= read -r envelope

jq -cn '{type: "progress", text: "Thinking..."}'
jq -c '{type: "message", text: ("You said: " + .text)}' <<<"$envelope"
