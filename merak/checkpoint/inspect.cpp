#include "merak/checkpoint/inspect.h"

#include <utility>

#include "merak/base/error.h"
#include "merak/checkpoint/loaded.h"
#include "merak/checkpoint/safetensors/weight_folder.h"

namespace merak::checkpoint {
namespace {

void add(Inspection& inspection, TensorInfo tensor) {
  if (tensor.kind == kWeight) inspection.parameters += numel(tensor.shape);
  inspection.tensors.push_back(std::move(tensor));
}

void add_file(Inspection& inspection, const SafetensorsFile& file) {
  ++inspection.files;
  inspection.bytes += file.file_bytes().size();
}

TensorInfo as_weight(const TensorSpec& spec) {
  return {std::string(kWeight), spec.name, spec.dtype, spec.shape};
}

// Runs `fill`; what it throws becomes the only problem.
template <typename F>
Inspection inspect(std::string format, F&& fill) {
  Inspection inspection{.format = format};
  try {
    fill(inspection);
  } catch (const Error& error) {
    inspection = {.format = std::move(format), .problems = {error.what()}};
  }
  return inspection;
}

}  // namespace

Inspection verify(const std::filesystem::path& checkpoint) {
  return inspect("checkpoint", [&](Inspection& inspection) {
    Loaded loaded = load(checkpoint, Depth::kData);
    for (TensorEntry& tensor : loaded.index.contents.tensors) {
      add(inspection, std::move(tensor.info));
    }
    for (const FileEntry& file : loaded.index.contents.files) {
      inspection.bytes += file.bytes;
    }
    inspection.files = loaded.files.size();
    inspection.step = loaded.index.step;
    inspection.layout = std::move(loaded.index.layout);
    inspection.model = std::move(loaded.index.model);
    inspection.trainer = std::move(loaded.index.trainer);
    inspection.problems = std::move(loaded.problems);
  });
}

Inspection describe(const std::filesystem::path& safetensors_file) {
  return inspect("safetensors", [&](Inspection& inspection) {
    const SafetensorsFile file(safetensors_file);
    add_file(inspection, file);
    for (const StoredTensor& tensor : file.tensors()) {
      add(inspection, as_weight(tensor.spec));
    }
  });
}

Inspection describe_folder(const std::filesystem::path& weights_folder) {
  return inspect("weights folder", [&](Inspection& inspection) {
    const WeightFolder folder(weights_folder);
    for (const SafetensorsFile& file : folder.files()) {
      add_file(inspection, file);
    }
    for (const std::string& name : folder.names()) {
      add(inspection, as_weight(folder.at(name)));
    }
  });
}

}  // namespace merak::checkpoint
