#!/usr/bin/env python3
"""Paints a day's sky in three pictures and sends them as one message, an album where the chat has albums."""
import json
import struct
import sys
import zlib
from pathlib import Path

SIZE = 256

# From the top of the picture to the bottom: red, green, blue.
SKIES = {
    "morning": ((70, 90, 160), (255, 190, 120)),
    "noon": ((30, 110, 220), (190, 225, 255)),
    "night": ((5, 5, 25), (60, 40, 90)),
}


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def png(width, height, rows):
    """A PNG file of rows of red, green, blue bytes."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + row for row in rows)  # each row begins with its filter: none
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def paint(top, bottom):
    """A sky that changes from one colour to the other."""
    return png(SIZE, SIZE, [
        bytes(a + (b - a) * y // SIZE for a, b in zip(top, bottom)) * SIZE for y in range(SIZE)
    ])


envelope = json.loads(sys.stdin.readline())
folder = Path(envelope["user_data_dir"])

pictures = []
for number, (name, (top, bottom)) in enumerate(SKIES.items(), 1):
    say("progress", f"Painting {name} ({number} of {len(SKIES)})...")
    path = folder / f"{name}.png"
    path.write_bytes(paint(top, bottom))
    pictures.append(str(path))

# One frame, so one message. A frame for each picture would be a message for each.
say("message", "Morning, noon and night:", media=pictures)
