#!/bin/sh
# Prints the words of an audio file: by an HTTP service in HEAR_URL, or by whisper.cpp on this machine.
set -eu
if [ -n "${HEAR_URL-}" ]; then # such as https://HOST/v1/audio/transcriptions
	# The file comes on stdin, because curl gives characters of a name a meaning.
	exec curl --silent --show-error --fail-with-body --header "Authorization: Bearer ${HEAR_KEY-}" \
		--form "file=@-;filename=audio.ogg" --form "model=${HEAR_MODEL-whisper-1}" --form response_format=text "$HEAR_URL" <"$1"
fi
wav=$(mktemp)
trap 'rm -f "$wav"' EXIT
ffmpeg -nostdin -loglevel error -y -i "$1" -ar 16000 -ac 1 -f wav "$wav"
whisper-cli --model "${WHISPER_MODEL-ggml-base.bin}" --language auto --no-timestamps --no-prints --file "$wav"
