// Training whole layouts in the test's own process.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "merak/config/config.h"
#include "merak/config/layout.h"
#include "merak/data/dataset.h"
#include "merak/runtime/trainer.h"

namespace merak::testing {

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Token ids drawn evenly below `vocabulary`, as a flat u16 file.
void write_tokens(const std::filesystem::path& file, int count, int vocabulary);

// A GPT-2 that is small and odd: 5 layers, vocabulary 101, width 24.
nlohmann::json small_gpt2();

// A configuration of it on `tokens`, fp32, no dropout, AdamW with clipping.
config::Config small_config(const std::filesystem::path& tokens);

struct Trained {
  std::vector<runtime::StepReport> steps;  // as the ranks agree on them
  std::map<std::string, at::Tensor> parameters;
  // By name and rank: all copies of tied parameters after the last step.
  std::map<std::string, std::vector<at::Tensor>> copies;

  std::vector<double> losses() const;
  std::vector<double> grad_norms() const;
};

// Every rank must report the same losses and norms.
Trained train(const config::Config& config, const config::Layout& layout,
              int steps, const runtime::Datasets& datasets);
// With the data that the configuration names.
Trained train(const config::Config& config, const config::Layout& layout,
              int steps);

}  // namespace merak::testing
