#!/usr/bin/env python3
"""GPT-2 through torch.distributed.pipelining, a process a rank on Gloo.

Rank and world are RANK and WORLD_SIZE. `--split` has the blocks of each stage;
the embedding is in front of the first, the head behind the last. Where these
two lie on different ranks, each has a copy of the tied weight, and the ranks
add up its two gradients.
"""
import os

import torch
import torch.distributed as dist
import work as common
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules

SCHEDULES = {
    "gpipe": schedules.ScheduleGPipe,
    "1f1b": schedules.Schedule1F1B,
    "interleaved_1f1b": schedules.ScheduleInterleaved1F1B,
    "interleaved_zb": schedules.ScheduleInterleavedZeroBubble,
    "zb_v": schedules.ScheduleZBVZeroBubble,
}


def blocks_of(text):
    return [int(blocks) for blocks in text.split(",")]


def rank_of_stage(stage, world, schedule):
    """Stages lie round robin, and there and back for a V."""
    if schedule == "zb_v" and stage >= world:
        return 2 * world - 1 - stage
    return stage % world


class Rank:
    def __init__(self, work):
        self.work = work
        self.split = work.split
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        where = [rank_of_stage(i, self.world, work.schedule)
                 for i in range(len(self.split))]
        self.first, self.last = where[0], where[-1]
        self.ends = dist.new_group([self.first, self.last]) \
            if self.first != self.last else None
        self.tied = None
        self.modules = {i: self.make_stage(i)
                        for i in range(len(self.split))
                        if where[i] == self.rank}
        self.schedule = self.make_schedule()
        self.optimizer = common.adamw(work, self.parameters())
        self.batches = common.Batches(work)

    def make_stage(self, index):
        torch.manual_seed(index)
        parts = [common.Block(self.work) for _ in range(self.split[index])]
        if index == 0:
            parts.insert(0, common.Embedding(self.work))
        if index == len(self.split) - 1:
            parts.append(common.Head(self.work, self.tied))
        module = nn.Sequential(*parts)
        common.initialize(module)
        if index == 0:
            self.tied = parts[0].wte.weight
        elif index == len(self.split) - 1:
            self.tied = parts[-1].weight
        if self.ends and index in (0, len(self.split) - 1):
            dist.broadcast(self.tied.data, self.first, group=self.ends)
        return module

    def make_schedule(self):
        kind = SCHEDULES[self.work.schedule]
        count = self.work.global_batch // self.work.micro_batch
        stages = [PipelineStage(module, i, len(self.split),
                                torch.device("cpu"))
                  for i, module in self.modules.items()]
        many = issubclass(kind, schedules.PipelineScheduleMulti)

        def loss_of(logits, labels):
            return common.cross_entropy(logits, labels) / count

        return kind(stages if many else stages[0], count, loss_fn=loss_of,
                    scale_grads=False)

    def parameters(self):
        named = {id(p): p for module in self.modules.values()
                 for p in module.parameters()}
        return named.values()

    def step(self):
        inputs, labels = self.batches()
        losses = []
        arguments = [inputs] if self.rank == self.first else []
        targets = {"target": labels, "losses": losses} \
            if self.rank == self.last else {}
        self.schedule.step(*arguments, **targets)
        if self.ends and self.rank in (self.first, self.last):
            dist.all_reduce(self.tied.grad, group=self.ends)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return sum(loss.item() for loss in losses) if losses else None


def main():
    options = common.parser(__doc__.split("\n")[0])
    options.add_argument("--schedule", choices=SCHEDULES, required=True)
    options.add_argument("--split", type=blocks_of, required=True)
    options.add_argument("--store", required=True,
                         help="file through which the ranks meet")
    work = common.parse(options)
    if sum(work.split) != work.layers:
        options.error(f"--split {work.split} does not add up to the "
                      f"{work.layers} layers")
    dist.init_process_group(
        "gloo", init_method=f"file://{work.store}",
        rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
    common.serve(Rank(work).step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
