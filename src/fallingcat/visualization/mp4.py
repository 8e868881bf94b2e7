"""Encoded pictures in an MP4 file: one track of H.264 or VP9, as ISO 14496-12 and -15 have it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

RATE = 90_000
"""Ticks per second."""


def mp4(
    codec: str, description: bytes, chunks: Sequence[tuple[bool, bytes]], size: tuple[int, int], rate: int
) -> bytes:
    """Bytes of the file: ``chunks`` are pictures (whether one stands alone, and its bytes), ``rate`` of them a second.

    Example:
        >>> mp4("vp09.00.31.08", b"", [(True, b"abc")], (64, 64), 30)[4:12]
        b'ftypisom'
    """
    head = box("ftyp", b"isom", struct.pack(">I", 512), b"isom", b"iso2", b"mp41")
    start = len(head) + len(_moov(codec, description, chunks, size, rate, 0)) + 8
    data = box("mdat", *(bytes_ for _, bytes_ in chunks))
    return head + _moov(codec, description, chunks, size, rate, start) + data


def box(kind: str, *parts: bytes) -> bytes:
    """Box of the file: length, name and content."""
    content = b"".join(parts)
    return struct.pack(">I", 8 + len(content)) + kind.encode() + content


def _full_box(kind: str, *parts: bytes, version: int = 0, flags: int = 0) -> bytes:
    return box(kind, struct.pack(">I", (version << 24) | flags), *parts)


def _moov(
    codec: str,
    description: bytes,
    chunks: Sequence[tuple[bool, bytes]],
    size: tuple[int, int],
    rate: int,
    start: int,
) -> bytes:
    ticks = RATE // rate
    length = ticks * len(chunks)
    one = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    movie = struct.pack(">4I", 0, 0, RATE, length) + struct.pack(">IH10x", 0x10000, 0x100) + one + bytes(24)
    track = struct.pack(">5I", 0, 0, 1, 0, length) + bytes(16) + one + struct.pack(">2I", size[0] << 16, size[1] << 16)
    media = box(
        "mdia",
        _full_box("mdhd", struct.pack(">4I2H", 0, 0, RATE, length, 0x55C4, 0)),
        _full_box("hdlr", bytes(4), b"vide", bytes(12), b"video\0"),
        box(
            "minf",
            _full_box("vmhd", bytes(8), flags=1),
            box("dinf", _full_box("dref", struct.pack(">I", 1), _full_box("url ", flags=1))),
            _table(codec, description, chunks, size, ticks, start),
        ),
    )
    return box(
        "moov",
        _full_box("mvhd", movie, struct.pack(">I", 2)),
        box("trak", _full_box("tkhd", track, flags=3), media),
    )


def _table(
    codec: str,
    description: bytes,
    chunks: Sequence[tuple[bool, bytes]],
    size: tuple[int, int],
    ticks: int,
    start: int,
) -> bytes:
    """Table of the places and durations of pictures, and which stand alone."""
    count, keys = len(chunks), [i + 1 for i, (key, _) in enumerate(chunks) if key]
    sizes = struct.pack(f">{count}I", *(len(data) for _, data in chunks))
    return box(
        "stbl",
        _full_box("stsd", struct.pack(">I", 1), _entry(codec, description, size)),
        _full_box("stts", struct.pack(">3I", 1, count, ticks)),
        _full_box("stss", struct.pack(f">{1 + len(keys)}I", len(keys), *keys)),
        _full_box("stsc", struct.pack(">4I", 1, 1, count, 1)),
        _full_box("stsz", struct.pack(">2I", 0, count), sizes),
        _full_box("stco", struct.pack(">2I", 1, start)),
    )


def _entry(codec: str, description: bytes, size: tuple[int, int]) -> bytes:
    plain = (
        bytes(6) + struct.pack(">H16x2H2I4xH", 1, *size, 0x480000, 0x480000, 1) + bytes(32) + struct.pack(">Hh", 24, -1)
    )
    if codec.startswith("avc1"):
        return box("avc1", plain, box("avcC", description))
    profile, level, depth = (int(x) for x in codec.split(".")[1:4])
    return box("vp09", plain, _full_box("vpcC", bytes([profile, level, (depth << 4) | 2, 1, 1, 1, 0, 0]), version=1))
