// From a module to what the ranks run: capture, passes, partition, and for the
// stages of one rank, differentiation.
//
// Every rank compiles the whole model graph, which costs milliseconds and no
// memory, and differentiates only its own stages.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "merak/graph/graph.h"
#include "merak/partition/partition.h"
#include "merak/partition/split_stages.h"
#include "merak/partition/tied.h"
#include "merak/trace/capture.h"
#include "merak/trace/differentiate.h"

namespace merak::runtime {

struct ParameterInfo {
  std::string name;
  graph::TensorType type;
  bool trainable = true;
  std::vector<int> stages;  // that hold it, increasing
  int uses = 1;             // shards that read it (partition/tied_uses.h)
};

// The same on every rank. Parameters are ordered by name: sums over them (the
// gradient norm) are made in this order, whatever the layout.
struct CompiledModel {
  graph::Graph model;          // functional, loss as "loss_sum"
  trace::Constants constants;  // of the model graph
  graph::Graph count;          // from the batch to "count", the loss's divisor
  partition::Partition partition;
  partition::StagedModel staged;
  std::vector<ParameterInfo> parameters;
  std::vector<ParameterInfo> buffers;
};

// `inputs`: types of one micro-batch.
CompiledModel compile_model(const trace::ModuleView& module,
                            const std::vector<trace::NamedType>& inputs,
                            const partition::PartitionOptions& options,
                            c10::Device device);

// The programs of one stage for training, and for evaluation with random
// operators off.
struct StagePrograms {
  trace::StageProgram training;
  trace::LoweredProgram evaluation;
};
StagePrograms compile_stage(const CompiledModel& model, int stage,
                            c10::Device device);

}  // namespace merak::runtime
