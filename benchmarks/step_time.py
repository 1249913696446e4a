#!/usr/bin/env python3
"""Time of a training step: Merak and its peers in turns, as ratios.

    .venv/bin/python benchmarks/step_time.py --work wide_head --ranks 2

The machine's speed drifts, so no time of one contestant is compared with a
time of another taken minutes later: each round gives every contestant a few
steps, and a ratio is taken within a round. benchmarks/README.md says more.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import numpy
from contestants import Layout, Merak, Peer, Work

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKS = {
    "wide_head": Work(layers=8, hidden=512, heads=8, vocabulary=50304),
    "deep": Work(layers=12, hidden=768, heads=12, vocabulary=8192),
}


def write_tokens(work, folder):
    tokens = numpy.random.default_rng(1).integers(
        0, work.vocabulary, 64 * work.global_batch * work.sequence + 1)
    file = folder / "tokens.u16"
    tokens.astype("<u2").tofile(file)
    return dataclasses.replace(work, tokens=str(file))


# ---- torch.distributed.pipelining: the best of splits and schedules ---------


def chain_splits(layers, ranks):
    """From equal stages to a last one that has the head alone."""
    splits = []
    for last in range(layers // ranks, -1, -1):
        base, more = divmod(layers - last, ranks - 1)
        splits.append([base + (i < more) for i in range(ranks - 1)] + [last])
    return splits


def v_splits(layers, ranks):
    """There and back: the first rank has the embedding and the head."""
    splits = []
    for ends in range(layers // (2 * ranks), -1, -1):
        half = layers // 2 - ends
        base, more = divmod(half, ranks - 1)
        inner = [base + (i < more) for i in range(ranks - 1)]
        splits.append([ends, *inner, *reversed(inner), ends])
    return [split for split in splits if sum(split) == layers]


def equal_splits(layers, ranks):
    chunks = 2 * ranks
    return [[layers // chunks] * chunks] if layers % chunks == 0 else []


CANDIDATES = [("1f1b", chain_splits), ("gpipe", chain_splits),
              ("interleaved_1f1b", equal_splits),
              ("interleaved_zb", equal_splits), ("zb_v", v_splits)]


def pipelining(schedule, split, arguments, work, layout, folder):
    text = ",".join(map(str, split))
    name = f"pipelining {schedule} {text}"
    store = folder / f"store-{schedule}-{text}"
    store.unlink(missing_ok=True)
    options = [*work.options(), "--schedule", schedule, "--split", text,
               "--store", str(store)]
    return Peer(name, "pipelining.py", options, layout, folder,
                arguments.tuned)


def fastest_pipelining(arguments, work, layout, folder):
    """The finalists, as (schedule, split): the fastest in a single step."""
    seconds = {}
    for schedule, splits in CANDIDATES:
        for split in splits(work.layers, layout.ranks):
            peer = pipelining(schedule, split, arguments, work, layout, folder)
            seconds[schedule, tuple(split)] = peer.step()
            peer.close()
            print(f"{peer.name}: {seconds[schedule, tuple(split)]:.2f} s",
                  file=sys.stderr)
    return sorted(seconds, key=seconds.get)[:arguments.finalists]


def chosen_pipelining(arguments, work, layout, folder):
    if layout.ranks == 1 or "pipelining" not in arguments.peers:
        return []
    if not arguments.pipelining:
        return fastest_pipelining(arguments, work, layout, folder)
    schedule, _, split = arguments.pipelining.partition(":")
    return [(schedule, split.split(","))]


# ---- rounds -----------------------------------------------------------------


def contestants(arguments, work, folder):
    layout = Layout(arguments.ranks, arguments.threads)
    layout.cores()  # an error before anything runs
    whole = Layout(1, arguments.ranks * arguments.threads)
    everyone = [Merak(arguments.merak, work, layout, folder, arguments.set)]
    chosen = chosen_pipelining(arguments, work, layout, folder)
    for name, options in (("eager", []), ("compile", ["--compile"]),
                          ("plain", ["--plain"])):
        if name in arguments.peers:
            everyone.append(Peer(name, "single.py", work.options() + options,
                                 whole, folder, arguments.tuned))
    for schedule, split in chosen:
        everyone.append(pipelining(schedule, split, arguments, work, layout,
                                   folder))
    return everyone


def rounds(everyone, arguments):
    """{name: the median step of each round}."""
    seconds = {one.name: [] for one in everyone}
    for number in range(arguments.rounds):
        for one in everyone:
            seconds[one.name].append(
                statistics.median(one.steps(arguments.steps)))
        print(f"round {number + 1}: " + ", ".join(
            f"{name} {times[-1]:.2f} s" for name, times in seconds.items()),
            file=sys.stderr)
    return seconds


def summary(everyone, seconds):
    ours = seconds["merak"]
    rows = []
    for one in everyone:
        times = seconds[one.name]
        ratios = [their / own for their, own in zip(times, ours)]
        rows.append({"name": one.name, "loss": one.loss, "seconds": times,
                     "median": statistics.median(times),
                     "ratio": statistics.median(ratios),
                     "least": min(ratios), "most": max(ratios)})
    return rows


def print_table(rows):
    print(f"{'':<36}{'step':>9}  {'times Merak':<24}{'loss':>8}")
    for row in rows:
        spread = f"{row['ratio']:.3f} ({row['least']:.3f} .. {row['most']:.3f})"
        print(f"{row['name']:<36}{row['median']:>7.2f} s  {spread:<24}"
              f"{row['loss']:>8.4f}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--work", choices=WORKS, default="wide_head")
    add("--ranks", type=int, default=1, help="pipeline stages of Merak")
    add("--threads", type=int, default=1, help="of each rank")
    add("--rounds", type=int, default=5)
    add("--steps", type=int, default=2, help="of each contestant in a round")
    add("--peers", nargs="*",
        default=["eager", "compile", "plain", "pipelining"])
    add("--tuned", action="store_true",
        help="peers: fused AdamW, and an allocator that keeps its pages")
    add("--pipelining", metavar="SCHEDULE:SPLIT",
        help="this one, such as 1f1b:8,0, instead of the fastest")
    add("--finalists", type=int, default=2,
        help="how many of the tried splits and schedules take part")
    add("--merak", default=str(ROOT / "build/release/merak"))
    add("--set", action="append", default=[], metavar="KEY=VALUE",
        help="over Merak's configuration")
    add("--json", action="store_true")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.merak).is_file():
        parser.error(f"no {arguments.merak}: build it first (make)")
    return arguments


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        work = write_tokens(WORKS[arguments.work], folder)
        everyone = contestants(arguments, work, folder)
        try:
            rows = summary(everyone, rounds(everyone, arguments))
        finally:
            for one in everyone:
                one.close()
    if arguments.json:
        print(json.dumps({"work": dataclasses.asdict(work),
                          "ranks": arguments.ranks,
                          "threads": arguments.threads,
                          "tuned": arguments.tuned, "contestants": rows}))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
