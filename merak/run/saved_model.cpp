#include "merak/run/saved_model.h"

#include <ATen/ops/empty.h>
#include <spdlog/spdlog.h>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/checkpoint/safetensors/weight_folder.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/config/parse.h"
#include "merak/data/tokenizer/load_tokenizer.h"
#include "merak/models/registry.h"
#include "merak/run/datasets.h"
#include "merak/runtime/model_source.h"
#include "merak/trace/tensors.h"

namespace merak::run {
namespace {

namespace fs = std::filesystem;
using runtime::ParameterInfo;

std::span<std::byte> bytes_of(at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

at::Tensor empty(const std::vector<std::int64_t>& shape, DType dtype) {
  return at::empty(shape,
                   at::TensorOptions().dtype(trace::to_scalar_type(dtype)));
}

// In the checkpoint's own type, then in the one that is wanted.
at::Tensor read_weight(const checkpoint::Checkpoint& saved,
                       const ParameterInfo& info) {
  checkpoint::TensorInfo wanted{std::string(checkpoint::kWeight), info.name,
                                info.type.dtype, info.type.shape};
  if (const auto* found = saved.find(checkpoint::kWeight, info.name)) {
    wanted.dtype = found->dtype;
  }
  at::Tensor value = empty(wanted.shape, wanted.dtype);
  saved.read(wanted, checkpoint::whole(wanted.shape), bytes_of(value));
  return value.to(trace::to_scalar_type(info.type.dtype));
}

at::Tensor read_weight(const checkpoint::WeightFolder& folder,
                       const ParameterInfo& info) {
  at::Tensor value = empty(info.type.shape, info.type.dtype);
  folder.read({info.name, info.type.dtype, info.type.shape},
              checkpoint::whole(info.type.shape), bytes_of(value));
  return value;
}

// RUN/checkpoints/step-N -> RUN.
fs::path run_folder_of(const checkpoint::Checkpoint& saved) {
  return fs::absolute(saved.folder()).parent_path().parent_path();
}

std::shared_ptr<const data::Tokenizer> tokenizer_of_run(const fs::path& run) {
  const fs::path file = run / "config.toml";
  if (!path_exists(file)) {
    fail_usage(
        "{} is missing: it says which tokenizer the checkpoint was trained "
        "with; keep the checkpoint in its run folder, or export it and put a "
        "tokenizer.json beside",
        file.string());
  }
  auto tokenizer = open_tokenizer(config::load_config(file).config);
  if (!tokenizer) {
    fail_usage(
        "{} names no tokenizer (data.tokenizer): the run was trained on token "
        "files; put its tokenizer there",
        file.string());
  }
  return tokenizer;
}

SavedModel load_checkpoint(const checkpoint::Checkpoint& saved) {
  SavedModel model;
  model.spec = models::make_spec(
      nlohmann::ordered_json::parse(saved.model()),
      fmt::format("the model of {}", saved.folder().string()));
  model.module = runtime::build_with_values(
      model.spec, at::kFloat,
      [&](const ParameterInfo& info) { return read_weight(saved, info); });
  model.tokenizer = tokenizer_of_run(run_folder_of(saved));
  return model;
}

SavedModel load_folder(const fs::path& folder) {
  SavedModel model;
  model.spec = runtime::load_spec_from_folder(folder.string());
  const checkpoint::WeightFolder weights(folder.string());
  model.module = runtime::build_with_values(
      model.spec, at::kFloat,
      [&](const ParameterInfo& info) { return read_weight(weights, info); });
  model.tokenizer = data::load_tokenizer(folder.string());
  return model;
}

}  // namespace

checkpoint::Checkpoint open_saved(const fs::path& path) {
  if (!path_exists(path)) fail_usage("{} does not exist", path.string());
  if (path_is_folder(path / checkpoint::kCheckpointsFolder)) {
    const auto newest = checkpoint::find_newest_complete(
        path, [](const std::string& line) { spdlog::warn("{}", line); });
    if (!newest) {
      fail_usage("the run folder {} has no complete checkpoint", path.string());
    }
    return checkpoint::open_checkpoint(*newest);
  }
  return checkpoint::open_checkpoint(path);
}

SavedModel load_saved(const fs::path& path) {
  if (path_exists(path / "config.json")) return load_folder(path);
  return load_checkpoint(open_saved(path));
}

}  // namespace merak::run
