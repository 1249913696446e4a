// A configuration on disk and the metrics of its runs, for tests that start
// the program.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "testing/program.h"
#include "testing/training.h"

namespace merak::testing {

class RunFolder {
 public:
  RunFolder() {
    write_tokens(path() / "tokens.u16", 3000, 101);
    std::ofstream(config()) << text();
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path config() const { return path() / "run.toml"; }
  std::filesystem::path run(const std::string& name) const {
    return path() / "runs" / name;
  }

  // `merak train` on this configuration, into runs/NAME.
  Arguments train(const std::string& name, const Arguments& set = {}) const {
    Arguments arguments = {"train", config().string(), "--set",
                           "run.dir=" + run(name).string()};
    for (const std::string& item : set) {
      arguments.push_back("--set");
      arguments.push_back(item);
    }
    return arguments;
  }

  // Records with "loss", by step.
  std::map<int, nlohmann::json> steps(const std::string& name) const {
    std::map<int, nlohmann::json> records;
    std::ifstream in(run(name) / "metrics.jsonl");
    std::string line;
    while (std::getline(in, line)) {
      const auto record = nlohmann::json::parse(line, nullptr, false);
      if (record.is_object() && record.contains("loss")) {
        records[record.at("step")] = record;
      }
    }
    return records;
  }

 private:
  // One model and batch for all; steps last long enough to be interrupted.
  std::string text() const {
    return R"([model.config]
model_type = "gpt2"
n_layer = 5
n_embd = 48
n_head = 3
vocab_size = 101
n_positions = 32
resid_pdrop = 0.1
[data]
train = [")" +
           (path() / "tokens.u16").string() + R"("]
sequence_length = 32
[train]
steps = 12
global_batch_size = 12
micro_batch_size = 1
[optimizer]
lr = 1e-2
[lr_schedule]
warmup_steps = 3
[parallel]
data = 1
pipeline = 1
[checkpoint]
every = 4
keep = 9
)";
  }

  TemporaryFolder folder_;
};

}  // namespace merak::testing
