#include "merak/api/trainer.h"

#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <mutex>

#include "merak/base/error.h"
#include "merak/base/log.h"
#include "merak/base/str.h"
#include "merak/cli/app.h"
#include "merak/config/check.h"
#include "merak/config/parse.h"
#include "merak/dist/gloo/session.h"
#include "merak/dist/launch/cores.h"
#include "merak/models/model.h"
#include "merak/run/prepare.h"
#include "merak/trace/deferred.h"

namespace merak {
namespace {

// LibTorch has one default for the process: factories and forwards that name
// no type must get the model's.
class DefaultType {
 public:
  explicit DefaultType(at::ScalarType type)
      : before_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  }
  ~DefaultType() { c10::set_default_dtype(before_); }
  DefaultType(const DefaultType&) = delete;
  DefaultType& operator=(const DefaultType&) = delete;

 private:
  caffe2::TypeMeta before_;
};

// Users' factories need not bear several callers.
std::mutex& factory_mutex() {
  static std::mutex mutex;
  return mutex;
}

trace::NamedTensors with_floats_as(at::ScalarType type,
                                   const trace::NamedTensors& inputs) {
  trace::NamedTensors result;
  for (const auto& [name, tensor] : inputs) {
    const bool cast =
        tensor.is_floating_point() && tensor.scalar_type() != type;
    result.emplace_back(name, cast ? tensor.to(type) : tensor);
  }
  return result;
}

void add_tensors(trace::NamedTensors& list, const trace::Deferred& deferred,
                 const std::string& name, const at::Tensor& tensor) {
  if (!deferred.made(tensor)) {
    fail_usage(
        "the module's {} was made before the factory was called: make the "
        "module, with all that it holds, inside the factory",
        name);
  }
  list.emplace_back(name, tensor);
}

trace::ModuleView view_of(const OwnModel& own, const trace::Deferred& deferred,
                          at::ScalarType type) {
  trace::ModuleView view;
  for (const auto& item : own.module->named_parameters()) {
    add_tensors(view.parameters, deferred, item.key(), item.value());
  }
  for (const auto& item : own.module->named_buffers()) {
    add_tensors(view.buffers, deferred, item.key(), item.value());
  }
  view.forward = [own, type](const trace::NamedTensors& inputs) {
    const at::Tensor loss = own.loss(Inputs(with_floats_as(type, inputs)));
    return trace::NamedTensors{{"loss", loss}};
  };
  return view;
}

}  // namespace

Config load_config(const std::filesystem::path& file,
                   std::span<const std::string> overrides) {
  return config::load_config(file, overrides, config::ModelFrom::kProgram)
      .config;
}

const at::Tensor& Inputs::operator[](const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors_) {
    if (key == name) return tensor;
    names.push_back(key);
  }
  fail_usage("the model asks for an input '{}'; the data give {}", name,
             join(names, ", "));
}

Trainer::Trainer(const Config& config, std::function<OwnModel()> make)
    : config_(config),
      make_(std::move(make)),
      environment_(dist::read_launch_environment()) {
  config::check(config_, {}, config::ModelFrom::kProgram);
}

void Trainer::set_data(std::shared_ptr<const data::Dataset> train,
                       std::shared_ptr<const data::Dataset> validation) {
  data_ = {std::move(train), std::move(validation)};
}

void Trainer::check_data() const {
  if (!data_.train) {
    config::check_training(config_);
  } else if (data_.train->num_samples() == 0) {
    fail_usage("the training set has no samples");
  }
  const bool validates = data_.train ? data_.validation != nullptr
                                     : !config_.data.validation.empty();
  if (config_.train.eval_every > 0 && !validates) {
    fail_usage(
        "train.eval_every is {}, but there is no validation set; give one, or "
        "set eval_every = 0",
        config_.train.eval_every);
  }
}

std::vector<trace::NamedType> Trainer::input_types(
    std::int64_t samples, std::int64_t sequence) const {
  if (!data_.train) {
    return models::language_model_inputs(samples, sequence, true);
  }
  const std::vector<std::uint64_t> ids(static_cast<std::size_t>(samples), 0);
  std::vector<trace::NamedType> types;
  for (const data::BatchTensor& tensor : data_.train->make_batch(ids).tensors) {
    types.push_back({tensor.name, {tensor.dtype, tensor.shape, {}}});
  }
  return types;
}

runtime::TrainableModel Trainer::make_model() {
  const std::lock_guard lock(factory_mutex());
  const auto deferred = std::make_shared<trace::Deferred>();
  const OwnModel own = deferred->build(make_);
  if (!own.module) fail_usage("the factory gave no module, but null");
  runtime::TrainableModel model;
  model.view = view_of(own, *deferred, runtime::precision_of(config_));
  model.inputs = [this](std::int64_t samples, std::int64_t sequence) {
    return input_types(samples, sequence);
  };
  runtime::start_from_constructor(model, deferred, config_.train.seed);
  const nlohmann::json& keys = config_.model.config;
  if (keys.contains("vocab_size") && keys["vocab_size"].is_number_integer()) {
    model.vocabulary_size = keys["vocab_size"].get<std::int64_t>();
  }
  model.config_json = keys.dump();
  return model;
}

RunResult Trainer::train(int ranks) {
  check_data();
  const DefaultType type(runtime::precision_of(config_));
  const auto make = [this] { return make_model(); };
  if (environment_.launcher != dist::Launcher::kNone) {
    return run::train_rank(config_, environment_, make, data_);
  }
  const auto cores = static_cast<std::int64_t>(dist::allowed_cores().size());
  const config::Layout layout = config::resolve_layout(
      config_, ranks > 0 ? ranks : config::default_world(config_, cores));
  run::prepare(config_, layout, make(), data_);
  if (layout.world() == 1) {
    return run::train_rank(config_, environment_, make, data_);
  }
  return run::train_threads(config_, layout, make, data_);
}

int run_program(const std::function<RunResult()>& body) {
  int code = 1;
  std::string failure;
  try {
    spdlog::set_default_logger(make_logger({}));
    dist::quiet_c10d();
    const RunResult result = body();
    return result.stopped_by == 0 ? 0 : 128 + result.stopped_by;
  } catch (const Error& error) {
    failure = error.what();
    code = cli::exit_code(error.kind());
  } catch (const c10::Error& error) {
    failure = error.what_without_backtrace();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  // Threads of this rank may hang: no destructor may wait for them.
  std::fflush(nullptr);
  _exit(cli::print_error(failure, code));
}

}  // namespace merak
