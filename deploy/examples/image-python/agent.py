#!/usr/bin/env python3
"""Paints a picture for a few words. The same words give the same picture."""
import hashlib
import json
import math
import struct
import sys
import zlib
from pathlib import Path

SIZE = 256


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def png(width, height, rows):
    """A PNG file of rows of red, green, blue bytes."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + row for row in rows)  # each row begins with its filter: none
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def wave(seed):
    """One wave over SIZE pixels, from two bytes of chance."""
    return [int(127 + 127 * math.sin(seed[0] + x * seed[1] / 2000)) for x in range(SIZE)]


def paint(digest):
    across = [wave(digest[i:]) for i in (0, 2, 4)]  # for red, green and blue
    down = [wave(digest[i:]) for i in (6, 8, 10)]
    return png(SIZE, SIZE, [
        bytes((across[c][x] + down[c][y]) // 2 for x in range(SIZE) for c in range(3)) for y in range(SIZE)
    ])


envelope = json.loads(sys.stdin.readline())
words = envelope["text"].strip()
if not words:
    say("message", "Tell me what to paint.")
    sys.exit()

say("progress", "Painting...")
digest = hashlib.sha256(words.encode()).digest()
path = Path(envelope["user_data_dir"]) / f"{digest.hex()[:12]}.png"  # its own name: older pictures stay
path.write_bytes(paint(digest))

say("message", f"Painted: {words}", media=[str(path)])  # media are absolute paths, as user_data_dir is
