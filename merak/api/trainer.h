// Training a program's own model: an ordinary single-device torch::nn module,
// unchanged, over as many ranks as the configuration asks for.
//
//   int main() {
//     return merak::run_program([] {
//       merak::Trainer trainer(
//           merak::load_config("mixer.toml"),
//           [] { return std::make_shared<Mixer>(); },
//           [](Mixer& model, const merak::Inputs& in) {
//             return loss_of(model.forward(in["input_ids"]), in["labels"]);
//           });
//       return trainer.train();
//     });
//   }
//
// The module is made inside a trace::Deferred, so it takes no memory; each rank
// fills the parameters of its own stages. Started by `merak launch -n 2 --
// ./program` or torchrun, Slurm or Open MPI, the process is one rank; started
// alone, its ranks are threads. Numbers do not depend on which.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "merak/config/config.h"
#include "merak/data/dataset.h"
#include "merak/dist/launch/launch_environment.h"
#include "merak/run/rank_run.h"
#include "merak/trace/capture.h"

namespace merak {

using config::Config;
using run::RunResult;

// A configuration without a [model], which the program brings: [model.config]
// may hold keys of its own, read from Config::model.config. `overrides` are as
// after --set ("train.steps=20"). Usage errors as the program's.
Config load_config(const std::filesystem::path& file,
                   std::span<const std::string> overrides = {});

// What the data give for one micro-batch, by name; first dimension: samples.
// Token data give "input_ids" and "labels", i64 [samples, sequence_length].
// Floating tensors have the type of train.precision.
class Inputs {
 public:
  explicit Inputs(trace::NamedTensors tensors) : tensors_(std::move(tensors)) {}

  // Usage error, with the names that there are, if this is none of them.
  const at::Tensor& operator[](const std::string& name) const;
  const trace::NamedTensors& all() const { return tensors_; }

 private:
  trace::NamedTensors tensors_;
};

// A module, and its loss: a scalar. A mean cross-entropy counts by the valid
// labels of the global batch, any other loss is averaged over samples.
struct OwnModel {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const Inputs&)> loss;
};

// One thread. What it is made of may be called on other threads, one at a time.
class Trainer {
 public:
  // `make()` gives a new module each time, as std::shared_ptr<M> or holder:
  // every rank that is a thread has its own. `loss(M&, const Inputs&)` gives
  // its loss. Usage error if the configuration is wrong.
  template <typename Make, typename Loss>
  Trainer(const Config& config, Make make, Loss loss)
      : Trainer(config, std::function<OwnModel()>([make, loss] {
                  auto module = pointer_of(make());
                  return OwnModel{module, [module, loss](const Inputs& inputs) {
                                    return loss(*module, inputs);
                                  }};
                })) {}

  // A module whose forward(const Inputs&) gives the loss.
  template <typename Make>
    requires(!std::is_same_v<Make, std::function<OwnModel()>>)
  Trainer(const Config& config, Make make)
      : Trainer(config, make, [](auto& module, const Inputs& inputs) {
          return module.forward(inputs);
        }) {}

  Trainer(const Config& config, std::function<OwnModel()> make);

  // Instead of the files of [data]. Datasets are read from several threads.
  void set_data(std::shared_ptr<const data::Dataset> train,
                std::shared_ptr<const data::Dataset> validation = nullptr);

  // Trains to train.steps, from the newest checkpoint if there is one, and
  // leaves the run folder that `merak train` leaves. Where no launcher started
  // this process, `ranks` threads train; 0: the product of the degrees, else
  // as many as the cores allow. All ranks return the same result.
  //
  // A usage error tells what is wrong with model, data or configuration. After
  // an error in one of several processes, threads may hang in communication:
  // say what must be said and _exit, as run_program() does. While it runs,
  // LibTorch's default dtype is that of train.precision.
  RunResult train(int ranks = 0);

  // Whether this process is the one to print results.
  bool is_first() const { return environment_.rank == 0; }

 private:
  template <typename M>
  static std::shared_ptr<M> pointer_of(std::shared_ptr<M> module) {
    return module;
  }
  template <typename Holder>
    requires requires(const Holder& holder) { holder.ptr(); }
  static auto pointer_of(const Holder& holder) {
    return holder.ptr();
  }

  runtime::TrainableModel make_model();
  std::vector<trace::NamedType> input_types(std::int64_t samples,
                                            std::int64_t sequence) const;
  void check_data() const;

  Config config_;
  std::function<OwnModel()> make_;
  runtime::Datasets data_;
  dist::LaunchEnvironment environment_;
};

// The main function of a program that trains: errors become one line on
// standard error and the exit code of docs/errors.md, a run that a signal
// stopped 128 + its number; never throws.
int run_program(const std::function<RunResult()>& body);

}  // namespace merak
