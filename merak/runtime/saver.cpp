#include "merak/runtime/saver.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "merak/base/error.h"
#include "merak/base/file_system.h"
#include "merak/checkpoint/publish.h"
#include "merak/runtime/exchange.h"
#include "merak/trace/tensors.h"

namespace merak::runtime {
namespace {

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  MERAK_CHECK(tensor.is_contiguous(), "a saved tensor is contiguous");
  return {static_cast<const std::byte*>(tensor.const_data_ptr()),
          static_cast<std::size_t>(tensor.nbytes())};
}

checkpoint::TensorInfo info_of(std::string_view kind, const std::string& name,
                               const at::Tensor& tensor) {
  return {std::string(kind), name, trace::to_dtype(tensor.scalar_type()),
          tensor.sizes().vec()};
}

checkpoint::ShardTensor shard_of(std::string_view kind, const std::string& name,
                                 const at::Tensor& tensor) {
  checkpoint::TensorInfo info = info_of(kind, name, tensor);
  checkpoint::Slice slice = checkpoint::whole(info.shape);
  return {std::move(info), std::move(slice), bytes_of(tensor)};
}

std::filesystem::path folder_of(const SaverOptions& options) {
  return options.run_folder / "checkpoints";
}

void warn(const std::string& line) { spdlog::warn("{}", line); }

void read_into(const checkpoint::Checkpoint& checkpoint, std::string_view kind,
               const std::string& name, at::Tensor tensor) {
  const checkpoint::TensorInfo info = info_of(kind, name, tensor);
  checkpoint.read(info, checkpoint::whole(info.shape),
                  {static_cast<std::byte*>(tensor.data_ptr()),
                   static_cast<std::size_t>(tensor.nbytes())});
}

}  // namespace

Saver::Saver(SaverOptions options, dist::Communicator& world)
    : options_(std::move(options)), world_(world), saver_(&warn) {}

Saver::~Saver() = default;

void Saver::save(const TrainerState& state, const ParameterStore& parameters,
                 const optim::Optimizer& optimizer) {
  finish();
  std::vector<checkpoint::ShardTensor> tensors;
  if (options_.writes) {
    for (const Parameter& parameter : parameters.parameters()) {
      if (!parameter.norm_owner) continue;  // a copy: the owner saves it
      tensors.push_back(
          shard_of(checkpoint::kWeight, parameter.name, parameter.value));
      if (!parameter.trainable) continue;
      for (const std::string& name : optimizer.state_names()) {
        tensors.push_back(shard_of(name, parameter.name,
                                   optimizer.state(parameter.name, name)));
      }
    }
  }
  pending_ = state;
  saver_.start(system_files(), {folder_of(options_), state.step, world_.rank()},
               tensors);
}

void Saver::finish() {
  if (!saver_.is_pending()) return;
  std::string manifest;
  try {
    manifest = saver_.wait();
  } catch (const std::exception& error) {  // all ranks wait for a manifest
    manifest = checkpoint::failed_manifest(
        {folder_of(options_), pending_.step, world_.rank()}, error.what());
  }
  publish(manifest);
}

// Rank 0 publishes; what it throws is thrown on every rank.
void Saver::publish(const std::string& manifest) {
  const std::vector<std::string> manifests = gather_text(world_, manifest);
  std::string failure;
  if (world_.rank() == 0) {
    try {
      const nlohmann::json trainer = {{"step", pending_.step},
                                      {"updates", pending_.updates},
                                      {"seed", pending_.seed}};
      checkpoint::publish(
          system_files(),
          {folder_of(options_), pending_.step, options_.layout_json,
           options_.model_json, trainer.dump(), options_.keep},
          manifests, &warn);
    } catch (const std::exception& error) {  // all ranks wait for the outcome
      failure = error.what();
    }
  }
  const std::vector<std::string> failures = gather_text(world_, failure);
  if (!failures[0].empty()) fail_runtime("{}", failures[0]);
}

std::vector<checkpoint::TensorInfo> checkpoint_tensors(
    const CompiledModel& model, const optim::Optimizer& optimizer) {
  std::vector<checkpoint::TensorInfo> tensors;
  for (const ParameterInfo& info : model.parameters) {
    tensors.push_back({std::string(checkpoint::kWeight), info.name,
                       info.type.dtype, info.type.shape});
    if (!info.trainable) continue;
    for (const std::string& state : optimizer.state_names()) {
      tensors.push_back({state, info.name, info.type.dtype, info.type.shape});
    }
  }
  return tensors;
}

TrainerState restore(const checkpoint::Checkpoint& checkpoint,
                     const CompiledModel& model, ParameterStore& parameters,
                     optim::Optimizer& optimizer) {
  checkpoint.require(checkpoint_tensors(model, optimizer));
  for (Parameter& parameter : parameters.parameters()) {
    read_into(checkpoint, checkpoint::kWeight, parameter.name, parameter.value);
    if (!parameter.trainable) continue;
    for (const std::string& state : optimizer.state_names()) {
      read_into(checkpoint, state, parameter.name,
                optimizer.state(parameter.name, state));
    }
  }
  const auto trainer = nlohmann::json::parse(checkpoint.trainer(), nullptr,
                                             /*allow_exceptions=*/false);
  TrainerState state;
  state.step = checkpoint.step();
  state.updates =
      trainer.is_object() ? trainer.value("updates", state.step) : state.step;
  state.seed = trainer.is_object() ? trainer.value("seed", std::int64_t{0}) : 0;
  return state;
}

}  // namespace merak::runtime
