#include "merak/checkpoint/export_hf.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "merak/base/error.h"
#include "merak/checkpoint/safetensors/convert.h"
#include "merak/checkpoint/safetensors/safetensors_writer.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeightsFile = "model.safetensors";
constexpr std::string_view kConfigFile = "config.json";
constexpr std::int64_t kSlabElements = std::int64_t{1} << 20;

DType exported(DType stored, DType dtype) {
  return is_floating(stored) ? dtype : stored;
}

std::string torch_name(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "float16";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
    default:
      fail_usage("weights cannot be exported as {}; f16, bf16, f32 and f64 can",
                 name_of(dtype));
  }
}

std::string config_text(const std::string& model, DType dtype) {
  auto config = nlohmann::json::parse(model);
  // Older configurations say torch_dtype, newer ones dtype.
  config.erase("torch_dtype");
  config["dtype"] = torch_name(dtype);
  return config.dump(2) + "\n";
}

// Calls `use` with slabs along the first dimension, converted, in order.
void for_each_slab(const Checkpoint& checkpoint, const TensorInfo& tensor,
                   DType dtype,
                   const std::function<void(std::span<const std::byte>)>& use) {
  const DType to = exported(tensor.dtype, dtype);
  const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
  const std::int64_t row = rows == 0 ? 0 : numel(tensor.shape) / rows;
  const std::int64_t step =
      std::max<std::int64_t>(1, kSlabElements / std::max<std::int64_t>(1, row));
  std::vector<std::byte> stored;
  std::vector<std::byte> converted;
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    Slice slab = whole(tensor.shape);
    if (!tensor.shape.empty()) {
      slab.offset[0] = begin;
      slab.extent[0] = std::min(step, rows - begin);
    }
    const auto count = static_cast<std::size_t>(numel(slab.extent));
    stored.resize(count * size_of(tensor.dtype));
    converted.resize(count * size_of(to));
    checkpoint.read(tensor, slab, stored);
    convert_elements(stored, tensor.dtype, converted, to);
    use(converted);
  }
}

std::vector<TensorInfo> weights_of(const Checkpoint& checkpoint) {
  std::vector<TensorInfo> weights;
  for (const TensorEntry& tensor : checkpoint.tensors()) {
    if (tensor.info.kind == kWeight) weights.push_back(tensor.info);
  }
  return weights;
}

void write_weights(FileSystem& files, const fs::path& path,
                   const Checkpoint& checkpoint, DType dtype) {
  const std::vector<TensorInfo> weights = weights_of(checkpoint);
  std::vector<TensorSpec> specs;
  for (const TensorInfo& tensor : weights) {
    specs.push_back({tensor.name, exported(tensor.dtype, dtype), tensor.shape});
  }
  write_safetensors(files, path, specs, {{"format", "pt"}},
                    [&](std::size_t index, const Sink& sink) {
                      for_each_slab(checkpoint, weights[index], dtype, sink);
                    });
}

bool is_same(const fs::path& path, const Checkpoint& checkpoint, DType dtype) {
  const SafetensorsFile file(path);
  const std::vector<TensorInfo> weights = weights_of(checkpoint);
  bool same = file.tensors().size() == weights.size();
  for (const TensorInfo& tensor : weights) {
    const StoredTensor* stored = file.find(tensor.name);
    same =
        same && stored != nullptr &&
        stored->spec == TensorSpec{tensor.name, exported(tensor.dtype, dtype),
                                   tensor.shape};
    if (!same) break;
    auto rest = file.bytes(*stored);
    for_each_slab(checkpoint, tensor, dtype, [&](auto slab) {
      same = same && std::ranges::equal(slab, rest.first(slab.size()));
      rest = rest.subspan(slab.size());
    });
  }
  return same;
}

// What lies on the disk is what the checkpoint says, or the export failed.
void compare(const fs::path& path, const Checkpoint& checkpoint, DType dtype) {
  bool same = false;
  try {
    same = is_same(path, checkpoint, dtype);
  } catch (const Error&) {
    // Not even a safetensors file. It is ours: no user can mend it.
  }
  if (!same) {
    fail_runtime("{} does not read back as it was written; is the disk sound?",
                 path.string());
  }
}

bool is_export_file(std::string_view name) {
  if (name.ends_with(".tmp")) name.remove_suffix(4);
  return name == kWeightsFile || name == kConfigFile;
}

// An export that did not finish: our two files, under either name. A folder
// with anything else is a user's.
void remove_partial(FileSystem& files, const fs::path& partial) {
  if (!files.is_folder(partial)) return;
  const std::vector<std::string> names = files.list(partial);
  for (const std::string& name : names) {
    if (is_export_file(name)) continue;
    fail_runtime(
        "{} is in the way: it holds {}, which no export wrote; "
        "move it, or export to another folder",
        partial.string(), name);
  }
  for (const std::string& name : names) files.remove_file(partial / name);
  files.remove_folder(partial);
}

}  // namespace

void export_hf(const Checkpoint& checkpoint, const fs::path& folder,
               DType dtype, FileSystem& files) {
  const std::string config = config_text(checkpoint.model(), dtype);
  const fs::path target = folder.has_filename() ? folder : folder.parent_path();
  if (files.file_size(target) || !files.list(target).empty()) {
    fail_usage("{} is not an empty folder; export to a new one",
               target.string());
  }
  fs::path partial = target;
  partial += ".partial";
  try {
    remove_partial(files, partial);
    make_durable_folder(files, partial);
    write_weights(files, partial / kWeightsFile, checkpoint, dtype);
    compare(partial / kWeightsFile, checkpoint, dtype);
    AtomicFile file(files, partial / kConfigFile, config.size());
    file.append(config);
    file.commit();
    files.rename(partial, target);
  } catch (const Error&) {
    try {
      remove_partial(files, partial);
    } catch (const Error&) {
      // The first failure is the one to report.
    }
    throw;
  }
  files.sync_folder(target.has_parent_path() ? target.parent_path() : ".");
}

}  // namespace merak::checkpoint
