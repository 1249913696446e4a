#!/usr/bin/env python3
"""Trains the demo's model with PyTorch and `transformers` alone.

    .venv/bin/python scripts/compare_demo.py runs/austen    (setup.sh --dev)

The configuration is the run's config.toml; tokens and their order are made
anew from docs/data_order.md, initial values are drawn by PyTorch. Prints both
validation losses and their ratio.
"""
import argparse
import glob
import json
import math
import pathlib
import tomllib

import numpy
import torch
from tokenizers import Tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def permuted(place, count, seed, epoch):
    """Which sample has this place in the epoch's order."""
    half = max(1, math.ceil((count - 1).bit_length() / 2))
    start = mix((seed + GAMMA) & MASK) ^ mix(epoch ^ GAMMA)
    keys = [mix((start + (r + 1) * GAMMA) & MASK) for r in range(8)]
    while True:
        left, right = place >> half, place & ((1 << half) - 1)
        for key in keys:
            left, right = right, left ^ (mix((right + key) & MASK)
                                         & ((1 << half) - 1))
        place = (left << half) | right
        if place < count:
            return place


def read_tokens(patterns, tokenizer, end_of_text):
    row = []
    for pattern in patterns:
        for file in sorted(glob.glob(pattern)):
            text = pathlib.Path(file).read_text(encoding="utf-8")
            row += ([end_of_text] if row else []) + tokenizer.encode(text).ids
    return numpy.array(row, dtype="int64")


def learning_rate(config, step):
    schedule, steps = config["lr_schedule"], config["train"]["steps"]
    peak, least = config["optimizer"]["lr"], schedule["min_lr"]
    warmup = schedule["warmup_steps"]
    if step < warmup:
        return peak * (step + 1) / warmup
    t = (step - warmup) / (steps - 1 - warmup)
    return least + (peak - least) * (1 + math.cos(math.pi * t)) / 2


def loss_sum(model, rows):
    logits = model(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(
        logits.view(-1, logits.shape[-1]), rows[:, 1:].reshape(-1),
        reduction="sum")


def train(model, tokens, config):
    length = config["data"]["sequence_length"]
    batch = config["train"]["global_batch_size"]
    micro = config["train"]["micro_batch_size"]
    samples = (len(tokens) - 1) // length
    seed = config["train"]["seed"]
    options = config["optimizer"]
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in model.parameters() if p.dim() >= 2],
          "weight_decay": options["weight_decay"]},
         {"params": [p for p in model.parameters() if p.dim() < 2],
          "weight_decay": 0.0}],
        betas=options["betas"], eps=options["eps"])
    for step in range(config["train"]["steps"]):
        total = 0.0
        for first in range(step * batch, (step + 1) * batch, micro):
            ids = [permuted(p % samples, samples, seed, p // samples)
                   for p in range(first, first + micro)]
            rows = torch.from_numpy(numpy.stack(
                [tokens[i * length:i * length + length + 1] for i in ids]))
            loss = loss_sum(model, rows) / (batch * length)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(),
                                       config["train"]["gradient_clip_norm"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step}: loss {total:.4f}", flush=True)


@torch.no_grad()
def validate(model, tokens, length):
    total, count = 0.0, len(tokens) - 1
    for first in range(0, count, length):
        row = torch.from_numpy(tokens[first:first + length + 1])[None]
        total += loss_sum(model, row).item()
    return total / count


def merak_loss(run):
    records = [json.loads(line)
               for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [r["validation_loss"] for r in records if "validation_loss" in r][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=pathlib.Path)
    run = parser.parse_args().run
    config = tomllib.loads((run / "config.toml").read_text())
    tokenizer = Tokenizer.from_file(config["data"]["tokenizer"])
    end_of_text = tokenizer.token_to_id("<|endoftext|>")
    torch.manual_seed(config["train"]["seed"])
    model = GPT2LMHeadModel(GPT2Config(**config["model"]["config"]))
    model.train()
    train(model, read_tokens(config["data"]["train"], tokenizer, end_of_text),
          config)
    model.eval()
    theirs = validate(
        model,
        read_tokens(config["data"]["validation"], tokenizer, end_of_text),
        config["data"]["sequence_length"])
    ours = merak_loss(run)
    print(f"validation loss: PyTorch {theirs:.4f}, Merak {ours:.4f}, "
          f"ratio {ours / theirs:.4f}")


if __name__ == "__main__":
    main()
