// A checkpoint's weights as a Hugging Face folder: config.json and
// model.safetensors, as `transformers` loads them.
#pragma once

#include <filesystem>

#include "merak/base/file_system.h"
#include "merak/checkpoint/checkpoint.h"

namespace merak::checkpoint {

// Floating tensors are converted to `dtype`, others stay as they are; names are
// the checkpoint's, which are Hugging Face's. config.json is the checkpoint's
// model with the dtype set. No more than some MiB of data are in memory.
//
// `folder` must be missing or empty (usage error) and appears complete or not
// at all: it is written as FOLDER.partial, read back and compared with the
// checkpoint, then renamed. Runtime error if writing fails.
void export_hf(const Checkpoint& checkpoint,
               const std::filesystem::path& folder, DType dtype = DType::kF32,
               FileSystem& files = system_files());

}  // namespace merak::checkpoint
