// The model that a configuration names, and the values that its parameters
// start from.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "merak/config/config.h"
#include "merak/models/spec.h"
#include "merak/runtime/compile.h"
#include "merak/trace/deferred.h"

namespace merak::runtime {

at::ScalarType precision_of(const config::Config& config);

// The model's config.json: that of [model] path with [model.config] over it.
// Usage error if neither says a model_type, or a file cannot be read.
models::ModelSpec load_spec(const config::ModelConfig& model);

// The contents of FOLDER/config.json as a checked specification.
models::ModelSpec load_spec_from_folder(const std::string& folder);

// A model that can be trained: seen as a module, without memory, with a way to
// fill single parameters. Users' own modules come in the same form.
struct TrainableModel {
  trace::ModuleView view;
  // Types of the inputs of one micro-batch.
  std::function<std::vector<trace::NamedType>(std::int64_t micro_batch,
                                              std::int64_t sequence_length)>
      inputs;
  // A parameter's or buffer's first value, as a tensor of its own.
  std::function<at::Tensor(const ParameterInfo&)> initial_value;
  // Usage error if that value cannot be had; cheap.
  std::function<void(const ParameterInfo&)> check_initial_value;
  std::int64_t vocabulary_size = 0;      // 0: unknown
  std::int64_t max_sequence_length = 0;  // 0: no limit
  std::string config_json = "{}";        // saved with checkpoints
};

// Lets the parameters and buffers of model.view start as the constructor that
// ran under `deferred` asked for, by `seed`.
void start_from_constructor(TrainableModel& model,
                            std::shared_ptr<const trace::Deferred> deferred,
                            std::int64_t seed);

// From the zoo: random values by the configuration's seed, or those of the
// folder's safetensors files (init = "pretrained").
TrainableModel load_model(const config::Config& config);

// Fills all parameters of a module of the zoo, for use outside of a trainer.
std::shared_ptr<models::Model> build_with_values(
    const models::ModelSpec& spec, at::ScalarType type,
    const std::function<at::Tensor(const ParameterInfo&)>& value);

}  // namespace merak::runtime
