#!/usr/bin/env python3
"""Takes out of the user's pictures what does not show in them: place, camera, dates, comments."""
import json
import struct
import sys
from pathlib import Path


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def clean_png(data):
    """A PNG is a list of chunks: length, name, data, checksum."""
    kept, at = [data[:8]], 8
    while kept[-1][4:8] != b"IEND":
        end = at + 12 + struct.unpack_from(">I", data, at)[0]
        if data[at + 4:at + 8] not in (b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"):
            kept.append(data[at:end])
        at = end
    return b"".join(kept)


def clean_jpeg(data):
    """A JPEG is a list of segments, a marker and a length each, and then the picture itself from FFDA on."""
    kept, at = [data[:2]], 2
    while data[at:at + 2] != b"\xff\xda":
        marker, length = struct.unpack_from(">HH", data, at)
        if marker not in (0xFFE1, 0xFFED, 0xFFFE):  # Exif and XMP, IPTC, comment
            kept.append(data[at:at + 2 + length])
        at += 2 + length
    return b"".join(kept) + data[at:]


def clean(data):
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return clean_png(data)
    if data.startswith(b"\xff\xd8"):
        return clean_jpeg(data)
    raise ValueError("neither a PNG nor a JPEG")


envelope = json.loads(sys.stdin.readline())
pictures = envelope.get("media", [])  # not there when nothing was attached
if not pictures:
    say("message", "Send me a picture and I take out what is hidden in it.")
    sys.exit()

folder = Path(envelope["user_data_dir"])
for number, path in enumerate(map(Path, pictures), 1):
    say("progress", f"Cleaning {path.name}...")
    try:
        before = path.read_bytes()
        after = clean(before)
    except OSError as e:  # it may be gone if the message had to wait
        say("message", f"{path.name} is left out: {e.strerror}.")
        continue
    except ValueError as e:
        say("message", f"{path.name} is left out: {e}.")
        continue
    except struct.error:  # we looked for more bytes than there are
        say("message", f"{path.name} is left out: the file is damaged.")
        continue
    copy = folder / f"clean-{number}-{path.name}"  # numbered: two files may have one name
    copy.write_bytes(after)
    say("message", f"{path.name}: {len(before) - len(after)} hidden bytes taken out.", media=[str(copy)])
