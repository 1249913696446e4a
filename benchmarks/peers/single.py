#!/usr/bin/env python3
"""GPT-2 in one PyTorch process: `transformers` or plain torch.nn, eager or
through torch.compile."""
import torch
import work as common
from torch import nn


def hugging_face(work):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=work.vocabulary, n_positions=work.sequence,
        n_embd=work.hidden, n_layer=work.layers, n_head=work.heads,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
        bos_token_id=0, eos_token_id=0)).train()
    return model, lambda inputs: model(input_ids=inputs).logits


def plain(work):
    embedding = common.Embedding(work)
    blocks = [common.Block(work) for _ in range(work.layers)]
    head = common.Head(work, embedding.wte.weight)
    model = nn.Sequential(embedding, *blocks, head)
    common.initialize(model)
    return model, model


def main():
    options = common.parser(__doc__)
    options.add_argument("--plain", action="store_true")
    options.add_argument("--compile", action="store_true")
    work = common.parse(options)
    model, logits_of = plain(work) if work.plain else hugging_face(work)
    optimizer = common.adamw(work, model.parameters())
    batches = common.Batches(work)

    def loss_of(inputs, labels):
        return common.cross_entropy(logits_of(inputs), labels)

    if work.compile:
        loss_of = torch.compile(loss_of)

    def step():
        inputs, labels = batches()
        count = work.global_batch // work.micro_batch
        total = 0.0
        for x, y in zip(inputs.chunk(count), labels.chunk(count)):
            loss = loss_of(x, y) / count
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    common.serve(step)


if __name__ == "__main__":
    main()
