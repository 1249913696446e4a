#!/usr/bin/env python3
"""Makes tests/golden: small GPT-2s trained by PyTorch and `transformers` alone.

    .venv/bin/python scripts/make_goldens.py        (needs setup.sh --dev)

Each folder holds a model as `transformers` saves it (config.json,
model.safetensors), a token file, run.toml, and what a plain PyTorch loop
computed from them: losses, gradient norms and learning rates of every step, in
fp64 and in fp32. Runs again give the same files.
"""
import json
import math
import pathlib

import numpy
import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
STEPS = 6
GLOBAL_BATCH = 12
LR, MIN_LR, WARMUP = 2e-2, 2e-3, 2
BETAS, EPS, WEIGHT_DECAY, CLIP = (0.9, 0.95), 1e-8, 0.1, 0.3

CASES = {
    "gpt2_5x101": dict(n_layer=5, n_embd=24, n_head=3, vocab_size=101,
                       sequence=11, seed=1),
    "gpt2_7x211": dict(n_layer=7, n_embd=20, n_head=4, vocab_size=211,
                       sequence=16, seed=2),
}

RUN_TOML = """\
# Paths are set by the tests.
[model]
init = "pretrained"
[data]
sequence_length = {sequence}
shuffle = false
[train]
steps = {steps}
global_batch_size = {batch}
gradient_clip_norm = {clip}
[optimizer]
name = "adamw"
lr = {lr}
betas = [{beta1}, {beta2}]
eps = {eps}
weight_decay = {decay}
[lr_schedule]
name = "cosine"
warmup_steps = {warmup}
min_lr = {min_lr}
"""


def learning_rate(step):
    """Linear warm-up, then a cosine to MIN_LR at the last step."""
    if step < WARMUP:
        return LR * (step + 1) / WARMUP
    t = (step - WARMUP) / (STEPS - 1 - WARMUP)
    return MIN_LR + (LR - MIN_LR) * (1 + math.cos(math.pi * t)) / 2


def make_model(case):
    torch.manual_seed(case["seed"])
    config = GPT2Config(
        n_layer=case["n_layer"], n_embd=case["n_embd"], n_head=case["n_head"],
        vocab_size=case["vocab_size"], n_positions=16, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, initializer_range=0.1,
        bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():  # norms and biases that are not all ones and zeros
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def make_tokens(case, count):
    generator = numpy.random.default_rng(case["seed"])
    # A skewed distribution, so that there is something to learn.
    return (case["vocab_size"] * generator.random(count) ** 2).astype("<u2")


def batch_of(tokens, step, sequence):
    """Inputs and labels of a global batch, samples in file order."""
    samples = (len(tokens) - 1) // sequence
    ids = [(step * GLOBAL_BATCH + i) % samples for i in range(GLOBAL_BATCH)]
    rows = [tokens[i * sequence:i * sequence + sequence + 1] for i in ids]
    rows = torch.from_numpy(numpy.stack(rows).astype("int64"))
    return rows[:, :-1], rows[:, 1:]


def train(folder, tokens, sequence, dtype, gradients_file=None):
    model = GPT2LMHeadModel.from_pretrained(folder, dtype=dtype)
    model.train()
    named = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in named.values() if p.dim() >= 2],
          "weight_decay": WEIGHT_DECAY},
         {"params": [p for p in named.values() if p.dim() < 2],
          "weight_decay": 0.0}],
        betas=BETAS, eps=EPS)
    result = {"loss": [], "grad_norm": [], "lr": []}
    for step in range(STEPS):
        inputs, labels = batch_of(tokens, step, sequence)
        logits = model(inputs).logits
        loss = torch.nn.functional.cross_entropy(
            logits.view(-1, logits.shape[-1]), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if step == 0 and gradients_file:
            save_file({name: p.grad.contiguous() for name, p in named.items()},
                      gradients_file)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        optimizer.step()
        result["loss"].append(loss.item())
        result["grad_norm"].append(norm.item())
        result["lr"].append(learning_rate(step))
    return result


def make_case(name, case):
    folder = GOLDEN / name
    folder.mkdir(parents=True, exist_ok=True)
    make_model(case).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    tokens = make_tokens(case, 60 * case["sequence"] + 3)
    tokens.tofile(folder / "tokens.u16")
    (folder / "run.toml").write_text(RUN_TOML.format(
        sequence=case["sequence"], steps=STEPS, batch=GLOBAL_BATCH, clip=CLIP,
        lr=LR, beta1=BETAS[0], beta2=BETAS[1], eps=EPS, decay=WEIGHT_DECAY,
        warmup=WARMUP, min_lr=MIN_LR))
    for dtype, label in ((torch.float64, "fp64"), (torch.float32, "fp32")):
        gradients = folder / "gradients.safetensors"
        wanted = label == "fp64" and name == "gpt2_5x101"
        numbers = train(folder, tokens, case["sequence"], dtype,
                        gradients if wanted else None)
        (folder / f"losses_{label}.json").write_text(
            json.dumps(numbers, indent=1) + "\n")
        print(name, label, numbers["loss"], numbers["grad_norm"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case_name, settings in CASES.items():
        make_case(case_name, settings)
