// From a stage's graph to its programs: forward and backward as lists of the
// kernels to be called.
//
// The stage graph runs once on proxies under PyTorch's own autograd, and what
// autograd calls is recorded: no derivative formula of ours. Mutation is taken
// out on the way by at::functionalization. The record is then cut in programs.
//
// Names of outputs: those of the stage graph; "saved:<k>" from forward to
// backward; "stash:<k>" from backward-input to backward-weight;
// "grad:<input>" for the gradient of a boundary value or parameter.
// A gradient that does not exist (an input that the outputs do not depend on)
// is left out.
#pragma once

#include "merak/graph/graph.h"
#include "merak/program/split.h"
#include "merak/trace/recorder.h"

namespace merak::trace {

struct StageProgram {
  program::Programs graphs;
  Constants constants;  // those made while recording
};

// The seeds are the stage's floating outputs that depend on a trainable input;
// each has a gradient input "grad:<output>" in the backward programs.
StageProgram differentiate(const graph::Graph& stage, c10::Device device);

// The forward program alone, without autograd: evaluation and generation.
struct LoweredProgram {
  graph::Graph graph;
  Constants constants;
};
LoweredProgram lower(const graph::Graph& stage, c10::Device device);

}  // namespace merak::trace
