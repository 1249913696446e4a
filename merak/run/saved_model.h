// A model to be used outside of a training: a checkpoint or a Hugging Face
// folder as a module with its values.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "merak/checkpoint/checkpoint.h"
#include "merak/data/tokenizer/tokenizer.h"
#include "merak/models/spec.h"

namespace merak::run {

// A checkpoint's own folder, or the newest sound one of a run folder. Usage
// error if the path is neither.
checkpoint::Checkpoint open_saved(const std::filesystem::path& path);

struct SavedModel {
  models::ModelSpec spec;
  std::shared_ptr<models::Model> module;  // in fp32
  std::shared_ptr<const data::Tokenizer> tokenizer;
};

// `path`: a checkpoint, a run folder, or a folder with config.json and
// *.safetensors. The tokenizer is that of the run's configuration, or the one
// that lies in the folder. Usage error if a part is missing or does not fit.
SavedModel load_saved(const std::filesystem::path& path);

}  // namespace merak::run
