// What is known of a model before it is built; without LibTorch's modules,
// whose headers are slow.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "merak/trace/capture.h"

namespace merak::models {

class Model;

// A model that can be built: its checked configuration and what a trainer has
// to know of it.
struct ModelSpec {
  std::string model_type;
  nlohmann::ordered_json config;  // as given, for export
  std::int64_t vocabulary_size = 0;
  std::int64_t max_sequence_length = 0;  // 0: no limit
  std::int64_t num_layers = 0;
  // Builds the module with parameters of `type`; inside a trace::Deferred
  // nothing is allocated.
  std::function<std::shared_ptr<Model>(at::ScalarType type)> build;
};

}  // namespace merak::models
