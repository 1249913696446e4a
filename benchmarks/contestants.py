"""Who takes part: peers, which wait in their processes for the word, and Merak.

Both have `name`, `steps(count)` (seconds of each), `loss` (of the last step)
and `close()`. Only the one whose turn it is computes.
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parent / "peers"

# glibc gives the memory of large tensors back at each free by default, and
# page faults then cost a good part of a step.
KEEP_PAGES = {"MALLOC_MMAP_THRESHOLD_": "34359738368",
              "MALLOC_TRIM_THRESHOLD_": "34359738368",
              "MALLOC_TOP_PAD_": "67108864"}


@dataclasses.dataclass
class Work:
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int = 256
    micro_batch: int = 2
    global_batch: int = 16
    tokens: str = ""

    def options(self):
        return [part for field in dataclasses.fields(self)
                for part in (f"--{field.name.replace('_', '-')}",
                             str(getattr(self, field.name)))]


@dataclasses.dataclass
class Layout:
    """`ranks` processes of `threads` threads, each on cores of its own."""

    ranks: int
    threads: int

    def cores(self, rank=None):
        """Of a rank, or of all, as taskset takes them."""
        own = sorted(os.sched_getaffinity(0))[:self.ranks * self.threads]
        if len(own) < self.ranks * self.threads:
            raise SystemExit(
                f"{self.ranks} ranks x {self.threads} threads need as many "
                f"cores; this process may run on {len(own)}")
        if rank is not None:
            own = own[rank * self.threads:(rank + 1) * self.threads]
        return ",".join(map(str, own))

    def environment(self, rank=0):
        threads = str(self.threads)
        return dict(os.environ, OMP_NUM_THREADS=threads,
                    MKL_NUM_THREADS=threads, RANK=str(rank),
                    WORLD_SIZE=str(self.ranks), GLOO_SOCKET_IFNAME="lo",
                    HF_HUB_OFFLINE="1")


class Peer:
    """A script of peers/, in a process a rank."""

    def __init__(self, name, script, options, layout, folder, tuned):
        self.name, self.loss = name, None
        self.log = folder / f"{name}.log"
        command = [sys.executable, str(PEERS / script), *options,
                   "--threads", str(layout.threads)]
        if tuned:
            command.append("--fused")
        with self.log.open("w") as errors:
            self.processes = [
                subprocess.Popen(
                    ["taskset", "-c", layout.cores(rank), *command],
                    env=layout.environment(rank) |
                    (KEEP_PAGES if tuned else {}),
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=errors, text=True)
                for rank in range(layout.ranks)]
        self.answers()

    def answers(self):
        lines = [process.stdout.readline() for process in self.processes]
        if not all(lines):
            self.close()
            raise SystemExit(f"{self.name} ended early:\n"
                             f"{self.log.read_text()[-2000:]}")
        return [json.loads(line) for line in lines]

    def step(self):
        for process in self.processes:
            process.stdin.write("step\n")
            process.stdin.flush()
        answers = self.answers()
        self.loss = max(a["loss"] for a in answers if a["loss"] is not None)
        return max(answer["seconds"] for answer in answers)

    def steps(self, count):
        return [self.step() for _ in range(count)]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


CONFIG = """\
[model.config]
model_type = "gpt2"
n_layer = {work.layers}
n_embd = {work.hidden}
n_head = {work.heads}
vocab_size = {work.vocabulary}
n_positions = {work.sequence}
resid_pdrop = 0.0
embd_pdrop = 0.0
attn_pdrop = 0.0
[data]
train = ["{work.tokens}"]
sequence_length = {work.sequence}
shuffle = false
[train]
steps = {steps}
global_batch_size = {work.global_batch}
micro_batch_size = {work.micro_batch}
gradient_clip_norm = 0.0
[optimizer]
name = "adamw"
lr = 3e-4
betas = [0.9, 0.95]
eps = 1e-8
weight_decay = 0.1
[lr_schedule]
name = "constant"
warmup_steps = 0
[parallel]
pipeline = {ranks}
[checkpoint]
resume = "never"
[run]
dir = "{folder}/run"
tensorboard = false
"""


class Merak:
    """A short run each time, whose first step does not count."""

    def __init__(self, program, work, layout, folder, settings):
        self.name, self.loss = "merak", None
        self.program, self.work, self.layout = program, work, layout
        self.folder, self.settings = folder, settings

    def steps(self, count):
        config = self.folder / "merak.toml"
        config.write_text(CONFIG.format(
            work=self.work, steps=count + 1, ranks=self.layout.ranks,
            folder=self.folder))
        command = ["taskset", "-c", self.layout.cores(), self.program,
                   "train", str(config), "--ranks", str(self.layout.ranks)]
        for setting in self.settings:
            command += ["--set", setting]
        environment = self.layout.environment()
        for name in ("RANK", "WORLD_SIZE"):  # it starts its own ranks
            del environment[name]
        done = subprocess.run(command, env=environment, capture_output=True,
                              text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        records = [json.loads(line) for line in
                   (self.folder / "run/metrics.jsonl").read_text().splitlines()]
        self.loss = records[-1]["loss"]
        return [record["step_ms"] / 1e3 for record in records[1:]]

    def close(self):
        pass
