#!/bin/sh
# Reads a text and writes it as an Ogg file with the codec Opus, which Telegram shows as a voice note.
set -eu
espeak-ng -v "${VOICE-en}" --stdin --stdout | opusenc --quiet - "$1"
