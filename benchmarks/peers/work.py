"""What every peer shares: its options, the batches, a plain GPT-2, and the loop
that does one step each time that it is told to."""
import argparse
import json
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional


def parser(description):
    options = argparse.ArgumentParser(description=description)
    for name in ("layers", "hidden", "heads", "vocabulary", "sequence",
                 "micro-batch", "global-batch"):
        options.add_argument(f"--{name}", type=int, required=True)
    options.add_argument("--tokens", required=True,
                         help="file of 16-bit token ids, as Merak reads it")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--fused", action="store_true",
                         help="PyTorch's fused AdamW")
    return options


def parse(options):
    work = options.parse_args()
    torch.set_num_threads(work.threads)
    torch.manual_seed(0)
    return work


class Batches:
    """Global batches of (inputs, labels), in the order of the file."""

    def __init__(self, work):
        self.work = work
        self.tokens = numpy.fromfile(work.tokens, "<u2").astype("int64")
        self.samples = (len(self.tokens) - 1) // work.sequence
        self.next = 0

    def __call__(self):
        length, count = self.work.sequence, self.work.global_batch
        places = [(self.next + i) % self.samples for i in range(count)]
        self.next += count
        rows = torch.from_numpy(numpy.stack(
            [self.tokens[p * length:p * length + length + 1] for p in places]))
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def cross_entropy(logits, labels):
    return functional.cross_entropy(
        logits.view(-1, logits.shape[-1]), labels.reshape(-1))


def adamw(work, parameters):
    """The optimizer of the configuration that step_time.py gives to Merak."""
    parameters = list(parameters)
    return torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() >= 2]},
         {"params": [p for p in parameters if p.dim() < 2],
          "weight_decay": 0.0}],
        lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1,
        fused=work.fused or None)


def serve(step):
    """One step for each line of standard input; answers are lines of JSON."""
    step()  # what is allocated or compiled once
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        loss = step()
        print(json.dumps({"seconds": time.perf_counter() - start,
                          "loss": loss}), flush=True)


# ---- GPT-2 of plain torch.nn parts, so that it can be cut anywhere ----------


class Embedding(nn.Module):
    def __init__(self, work):
        super().__init__()
        self.wte = nn.Embedding(work.vocabulary, work.hidden)
        self.wpe = nn.Embedding(work.sequence, work.hidden)

    def forward(self, tokens):
        return self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))


class Block(nn.Module):
    def __init__(self, work):
        super().__init__()
        width = work.hidden
        self.heads = work.heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.fc_proj = nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        y = functional.gelu(self.fc(self.ln_2(x)), approximate="tanh")
        return x + self.fc_proj(y)


class Head(nn.Module):
    def __init__(self, work, tied=None):
        super().__init__()
        self.ln_f = nn.LayerNorm(work.hidden)
        self.weight = tied if tied is not None else nn.Parameter(
            torch.empty(work.vocabulary, work.hidden))

    def forward(self, x):
        return functional.linear(self.ln_f(x), self.weight)


def initialize(module):
    """GPT-2's distributions: normal matrices, biases of 0."""
    for name, parameter in module.named_parameters():
        if parameter.dim() >= 2:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
