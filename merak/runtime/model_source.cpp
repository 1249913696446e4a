#include "merak/runtime/model_source.h"

#include <ATen/ops/empty.h>

#include <filesystem>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/checkpoint/safetensors/weight_folder.h"
#include "merak/models/model.h"
#include "merak/models/registry.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {
namespace {

using nlohmann::ordered_json;

ordered_json read_config_json(const std::string& folder) {
  const std::filesystem::path file =
      std::filesystem::path(folder) / "config.json";
  const ordered_json json =
      ordered_json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    fail_usage("{} is not a JSON object", file.string());
  }
  return json;
}

// The same function as the registry's files use: shape and type checks name
// both sides.
at::Tensor read_weight(const checkpoint::WeightFolder& folder,
                       const ParameterInfo& info) {
  at::Tensor tensor = at::empty(
      info.type.shape,
      at::TensorOptions().dtype(trace::to_scalar_type(info.type.dtype)));
  const checkpoint::TensorSpec wanted{info.name, info.type.dtype,
                                      info.type.shape};
  folder.read(wanted, checkpoint::whole(info.type.shape),
              {static_cast<std::byte*>(tensor.data_ptr()),
               static_cast<std::size_t>(tensor.nbytes())});
  return tensor;
}

// Names and shapes, by reading nothing.
void check_weight(const checkpoint::WeightFolder& folder,
                  const ParameterInfo& info) {
  checkpoint::Slice nothing = checkpoint::whole(info.type.shape);
  if (nothing.extent.empty()) return;
  nothing.extent[0] = 0;
  folder.read({info.name, info.type.dtype, info.type.shape}, nothing, {});
}

at::Tensor find_tensor(const trace::ModuleView& view, const std::string& name) {
  for (const auto* list : {&view.parameters, &view.buffers}) {
    for (const auto& [key, tensor] : *list) {
      if (key == name) return tensor;
    }
  }
  MERAK_CHECK(false, "the model has no tensor '{}'", name);
  return {};
}

}  // namespace

at::ScalarType precision_of(const config::Config& config) {
  return config.train.precision == "fp64" ? at::kDouble : at::kFloat;
}

models::ModelSpec load_spec_from_folder(const std::string& folder) {
  return models::make_spec(
      read_config_json(folder),
      (std::filesystem::path(folder) / "config.json").string());
}

models::ModelSpec load_spec(const config::ModelConfig& model) {
  ordered_json json = ordered_json::object();
  std::string origin = "[model.config]";
  if (!model.path.empty()) {
    json = read_config_json(model.path);
    origin = (std::filesystem::path(model.path) / "config.json").string();
    if (!model.config.empty()) origin += " with [model.config]";
  }
  for (const auto& [key, value] : model.config.items()) json[key] = value;
  return models::make_spec(json, origin);
}

void start_from_constructor(TrainableModel& model,
                            std::shared_ptr<const trace::Deferred> deferred,
                            std::int64_t seed) {
  model.check_initial_value = [](const ParameterInfo&) {};
  model.initial_value = [deferred = std::move(deferred), view = model.view,
                         seed = static_cast<std::uint64_t>(seed)](
                            const ParameterInfo& info) {
    return deferred->materialize(find_tensor(view, info.name), info.name, seed);
  };
}

TrainableModel load_model(const config::Config& config) {
  const models::ModelSpec spec = load_spec(config.model);
  auto deferred = std::make_shared<trace::Deferred>();
  const at::ScalarType type = precision_of(config);
  const std::shared_ptr<models::Model> module =
      deferred->build([&] { return spec.build(type); });
  TrainableModel model;
  model.view = models::view_of(module);
  model.inputs = [](std::int64_t micro_batch, std::int64_t sequence_length) {
    return models::language_model_inputs(micro_batch, sequence_length, true);
  };
  model.vocabulary_size = spec.vocabulary_size;
  model.max_sequence_length = spec.max_sequence_length;
  model.config_json = spec.config.dump();
  if (config.model.init == "pretrained") {
    const auto folder =
        std::make_shared<checkpoint::WeightFolder>(config.model.path);
    model.initial_value = [folder](const ParameterInfo& info) {
      return read_weight(*folder, info);
    };
    model.check_initial_value = [folder](const ParameterInfo& info) {
      check_weight(*folder, info);
    };
  } else {
    start_from_constructor(model, deferred, config.train.seed);
  }
  return model;
}

std::shared_ptr<models::Model> build_with_values(
    const models::ModelSpec& spec, at::ScalarType type,
    const std::function<at::Tensor(const ParameterInfo&)>& value) {
  trace::Deferred deferred;
  const std::shared_ptr<models::Model> module =
      deferred.build([&] { return spec.build(type); });
  for (auto& item : module->named_parameters()) {
    const ParameterInfo info{
        item.key(), trace::type_of(item.value()), true, {0}, 1};
    item.value().set_data(value(info));
  }
  return module;
}

}  // namespace merak::runtime
