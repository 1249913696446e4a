#!/usr/bin/env python3
"""Text files out of the data of R's package janeaustenr, without R.

    scripts/austen_text.py Rdata.rdb FOLDER

The file is a row of records, one a novel: a big-endian length, then a zlib
stream of R's serialization ("X" format) of a character vector, the novel's
lines. Each novel becomes FOLDER/train/NAME.txt, but for its last lines, which
become FOLDER/validation/NAME.txt.
"""
import argparse
import pathlib
import struct
import zlib

VALIDATION_SHARE = 0.02  # of the lines

STRING_VECTOR = 16  # R's type codes
STRING = 9

# By how they begin; other records are not novels.
NOVELS = {
    "SENSE AND SENSIBILITY": "sense_and_sensibility",
    "PRIDE AND PREJUDICE": "pride_and_prejudice",
    "MANSFIELD PARK": "mansfield_park",
    "EMMA": "emma",
    "NORTHANGER ABBEY": "northanger_abbey",
    "PERSUASION": "persuasion",
}


def records(data):
    """The uncompressed records of a lazy-load database."""
    position = 0
    while position < len(data):
        size, = struct.unpack_from(">I", data, position)
        stream = zlib.decompressobj()
        record = stream.decompress(data[position + 4:]) + stream.flush()
        if len(record) != size:
            raise ValueError(f"record at {position}: {len(record)} bytes, "
                             f"{size} expected")
        yield record
        position = len(data) - len(stream.unused_data)


def lines(record):
    """The strings of a serialized character vector, or none."""
    version, = struct.unpack_from(">I", record, 2)
    position = 14  # "X\n", three versions
    if version == 3:  # the name of the encoding follows
        length, = struct.unpack_from(">I", record, position)
        position += 4 + length
    flags, count = struct.unpack_from(">II", record, position)
    if flags & 0xFF != STRING_VECTOR:
        return []
    position += 8
    found = []
    for _ in range(count):
        flags, length = struct.unpack_from(">Ii", record, position)
        if flags & 0xFF != STRING:
            raise ValueError(f"no string at {position}")
        position += 8
        found.append(record[position:position + max(length, 0)].decode())
        position += max(length, 0)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("database", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    written = 0
    for record in records(arguments.database.read_bytes()):
        text = lines(record)
        title = next((line.strip().upper() for line in text if line.strip()), "")
        name = NOVELS.get(title)
        if name is None:
            continue
        cut = round(len(text) * (1 - VALIDATION_SHARE))
        for part, share in (("train", text[:cut]), ("validation", text[cut:])):
            (arguments.folder / part).mkdir(parents=True, exist_ok=True)
            file = arguments.folder / part / f"{name}.txt"
            file.write_text("\n".join(share) + "\n", encoding="utf-8")
        written += 1
    if written != len(NOVELS):
        parser.error(f"{arguments.database} holds {written} of "
                     f"{len(NOVELS)} novels")


if __name__ == "__main__":
    main()
