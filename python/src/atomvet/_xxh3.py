"""XXH3, 64 bits, seed 0: the checksum of the binary format. For inputs of at least 9 bytes, and for none.

The algorithm is public (xxhash.com, specification of XXH3). If the `xxhash` package is there, it is used: it is faster.
"""

from __future__ import annotations

import struct
from typing import List

_MASK = 0xFFFFFFFFFFFFFFFF
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _fold(left: int, right: int) -> int:
    product = left * right
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value &= _MASK
    value ^= value >> 37
    value = value * 0x165667919E3779F9 & _MASK
    return value ^ value >> 32


def _mix(data: bytes, at: int, secret: int) -> int:
    return _fold(_u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8))


def _pure(data: bytes) -> int:
    length = len(data)
    if length == 0:
        return 0x2D06800538D394C2
    if length < 9:
        raise ValueError("no checksum of so few bytes is needed")
    if length <= 16:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, length - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(length + swapped + high + _fold(low, high))
    if length <= 128:
        total = length * _P64[0]
        for i in range((length - 1) // 32 + 1):
            total += _mix(data, 16 * i, 32 * i) + _mix(data, length - 16 * (i + 1), 32 * i + 16)
        return _avalanche(total)
    if length <= 240:
        total = length * _P64[0] + sum(_mix(data, 16 * i, 16 * i) for i in range(8))
        total = _avalanche(total) + sum(_mix(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, length // 16))
        return _avalanche(total + _mix(data, length - 16, 136 - 17))
    return _long(data)


def _stripe(lanes: List[int], data: bytes, at: int, secret: int) -> None:
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", _SECRET, secret)
    for i in range(8):
        key = values[i] ^ keys[i]
        lanes[i ^ 1] = lanes[i ^ 1] + values[i] & _MASK
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) & _MASK


def _long(data: bytes) -> int:
    length = len(data)
    lanes = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    stripes = (length - 1) // 64
    for stripe in range(stripes):
        _stripe(lanes, data, 64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            keys = struct.unpack_from("<8Q", _SECRET, 128)
            for i in range(8):
                lane = lanes[i] ^ lanes[i] >> 47 ^ keys[i]
                lanes[i] = lane * _P32[0] & _MASK
    _stripe(lanes, data, length - 64, 192 - 64 - 7)
    total = length * _P64[0]
    for i in range(4):
        total += _fold(lanes[2 * i] ^ _u64(_SECRET, 11 + 16 * i), lanes[2 * i + 1] ^ _u64(_SECRET, 19 + 16 * i))
    return _avalanche(total)


try:
    import xxhash

    def xxh3(data: bytes) -> int:
        """The checksum of these bytes."""
        return int(xxhash.xxh3_64_intdigest(data))

except ImportError:
    xxh3 = _pure
