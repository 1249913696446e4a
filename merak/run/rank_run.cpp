#include "merak/run/rank_run.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/file_system.h"
#include "merak/base/log.h"
#include "merak/base/xxh64.h"
#include "merak/checkpoint/cleanup.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/config/write.h"
#include "merak/data/unigram_entropy.h"
#include "merak/dist/gloo/session.h"
#include "merak/dist/recorded.h"
#include "merak/kernels/allocator.h"
#include "merak/run/datasets.h"
#include "merak/run/plan_text.h"
#include "merak/run/rank_threads.h"
#include "merak/run/reporter.h"
#include "merak/run/stop_signal.h"
#include "merak/runtime/exchange.h"
#include "merak/schedule/text.h"

namespace merak::run {
namespace {

namespace fs = std::filesystem;

// And the log in it, which is the process's from here on.
void make_run_folder(const fs::path& folder, const std::string& label) {
  try {
    make_durable_folder(system_files(), folder);
  } catch (const Error& error) {
    fail_usage("run.dir is {}: {}", folder.string(), error.what());
  }
  spdlog::set_default_logger(
      make_logger({label, folder / "merak.log", true, {}}));
}

class RankRun {
 public:
  // `threads`: reaches the others where ranks are threads of this process.
  // Null: ranks are processes, and a session joins them.
  RankRun(const config::Config& config,
          const dist::LaunchEnvironment& environment,
          const runtime::Datasets& own_data, dist::GroupFactory* threads);

  RunResult run(const std::function<runtime::TrainableModel()>& make_model);
  // Tells who watches, and leaves the flight recorder behind.
  void fail(const Error& error, bool because_of_peer);

 private:
  bool is_first() const { return environment_.rank == 0; }
  void join();
  void set_progress(std::int64_t step, int micro_batch,
                    const std::string& action);
  dist::SessionOptions session_options();
  void make_trainer(const std::function<runtime::TrainableModel()>& make_model);
  runtime::RankWorld make_world();
  void compare_fingerprints();
  void resume();
  std::string find_checkpoint() const;
  void train();
  void report(const runtime::StepReport& step, double seconds);
  void evaluate();
  void save();
  RunResult finish();
  std::optional<double> entropy() const;

  config::Config config_;
  config::Layout layout_;
  dist::Mesh mesh_;
  dist::LaunchEnvironment environment_;
  std::string label_;
  fs::path folder_;
  dist::FlightRecorder recorder_;
  dist::GroupFactory* threads_;
  std::unique_ptr<dist::Session> session_;       // null for threads
  std::unique_ptr<dist::GroupFactory> factory_;  // recorded
  dist::Communicator* world_ = nullptr;
  std::unique_ptr<dist::Communicator> world_group_;
  runtime::Datasets datasets_;
  RunData data_;  // empty where the datasets are a program's own
  std::int64_t vocabulary_size_ = 0;
  std::string model_json_;
  std::unique_ptr<runtime::Trainer> trainer_;
  std::unique_ptr<runtime::Saver> saver_;
  std::unique_ptr<Reporter> reporter_;  // on the first rank
  std::optional<StopSignal> signal_;    // one in a process
  std::int64_t saved_step_ = -1;
  std::int64_t evaluated_step_ = -1;
  RunResult result_;
};

RankRun::RankRun(const config::Config& config,
                 const dist::LaunchEnvironment& environment,
                 const runtime::Datasets& own_data, dist::GroupFactory* threads)
    : layout_(config::resolve_layout(config, environment.world_size)),
      mesh_(mesh_of(layout_)),
      environment_(environment),
      label_(mesh_.label(environment.rank)),
      folder_(config.run.dir),
      recorder_(environment.rank, label_),
      threads_(threads),
      datasets_(own_data) {
  config_ = config::resolved(config, layout_);
  if (threads_ == nullptr || is_first()) signal_.emplace();
}

// Threads have one logger, which who started them has made.
void RankRun::join() {
  if (threads_ != nullptr) return;
  make_run_folder(folder_, label_);
  session_ = std::make_unique<dist::Session>(environment_, session_options());
}

void RankRun::set_progress(std::int64_t step, int micro_batch,
                           const std::string& action) {
  if (session_) session_->heartbeat().set_progress(step, micro_batch, action);
}

dist::SessionOptions RankRun::session_options() {
  dist::SessionOptions options;
  options.label = label_;
  // From the heartbeat's thread: the rank may hang where nothing reaches it.
  options.on_end = [this](const std::string& line) {
    try {
      recorder_.write(folder_, line);
    } catch (const Error& error) {
      spdlog::warn("{}", error.what());
    }
    spdlog::debug("{}", line);
    _exit(1);
  };
  return options;
}

runtime::RankWorld RankRun::make_world() {
  factory_ = dist::make_recorded_factory(
      threads_ != nullptr ? *threads_ : session_->factory(), recorder_);
  runtime::RankWorld world;
  world.mesh = mesh_;
  world.rank = environment_.rank;
  world.groups = dist::make_mesh_groups(mesh_, *factory_);
  world.factory = factory_.get();
  world.recorder = &recorder_;
  world.on_action = [this](std::int64_t step, int micro_batch,
                           const std::string& action) {
    set_progress(step, micro_batch, action);
  };
  return world;
}

void RankRun::make_trainer(
    const std::function<runtime::TrainableModel()>& make_model) {
  runtime::TrainableModel model = make_model();
  vocabulary_size_ = model.vocabulary_size;
  model_json_ = model.config_json;
  if (!datasets_.train) {
    data_ = open_data(config_, vocabulary_size_, cache_folder_of(config_));
    datasets_ = {data_.train, data_.validation};
  }
  runtime::RankWorld world = make_world();
  world_group_ = std::move(world.groups.world);
  world_ = world_group_.get();
  trainer_ = std::make_unique<runtime::Trainer>(
      config_, layout_, std::move(model), std::move(world), datasets_);
}

// Ranks that run different things would hang, or worse.
void RankRun::compare_fingerprints() {
  config::Config shared = config_;
  shared.run.dir.clear();  // may be another path on another host
  const std::string own = fmt::format(
      "{:016x}",
      xxh64(config::to_toml(shared) + schedule::to_text(trainer_->actions())));
  const auto all = runtime::gather_text(*world_, own);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    fail_usage(
        "rank {} {} has another configuration or another version of Merak than "
        "rank 0: start all ranks with the same program, file and --set",
        rank, mesh_.label(static_cast<int>(rank)));
  }
}

// On the first rank, which checks the data for all.
std::string RankRun::find_checkpoint() const {
  const std::string& resume = config_.checkpoint.resume;
  if (resume == "never") return "";
  if (resume != "auto") return resume;
  const auto warn = [](const std::string& line) { spdlog::warn("{}", line); };
  checkpoint::remove_unfinished(system_files(),
                                folder_ / checkpoint::kCheckpointsFolder,
                                std::numeric_limits<std::int64_t>::max(), warn);
  const auto found = checkpoint::find_newest_complete(folder_, warn);
  return found ? found->string() : "";
}

void RankRun::resume() {
  const std::string path =
      runtime::gather_text(*world_, is_first() ? find_checkpoint() : "")[0];
  if (path.empty()) return;
  trainer_->restore(checkpoint::open_checkpoint(
      path,
      is_first() ? checkpoint::Depth::kData : checkpoint::Depth::kStructure));
  const runtime::TrainerState& state = trainer_->state();
  saved_step_ = state.step;
  if (!is_first()) return;
  spdlog::info("resumed from {}: {} steps are done", path, state.step);
  if (state.seed != config_.train.seed) {
    spdlog::warn(
        "the checkpoint is of seed {}, train.seed is {}: the order of samples "
        "changes",
        state.seed, config_.train.seed);
  }
}

RunResult RankRun::run(
    const std::function<runtime::TrainableModel()>& make_model) {
  kernels::install_allocator();
  join();
  make_trainer(make_model);
  compare_fingerprints();
  resume();
  const nlohmann::ordered_json plan = plan_json(config_, *trainer_);
  runtime::SaverOptions options;
  options.run_folder = folder_;
  options.layout_json = plan.at("layout").dump();
  options.model_json = model_json_;
  options.keep = static_cast<int>(config_.checkpoint.keep);
  options.writes = trainer_->saves_parameters();
  saver_ = std::make_unique<runtime::Saver>(options, *world_);
  if (is_first()) {
    write_file_atomic(folder_ / "config.toml", config::to_toml(config_));
    write_file_atomic(folder_ / "plan.json", plan.dump(2) + "\n");
    spdlog::info("run folder {}; {}", folder_.string(),
                 plan_text(config_, *trainer_));
    reporter_ = std::make_unique<Reporter>(config_, trainer_->state().step);
  }
  train();
  return finish();
}

void RankRun::train() {
  const std::int64_t steps = config_.train.steps;
  const std::int64_t eval_every = config_.train.eval_every;
  const std::int64_t save_every = config_.checkpoint.every;
  while (trainer_->state().step < steps && result_.stopped_by == 0) {
    metrics::Stopwatch watch;
    kernels::reset_peak();
    const runtime::StepReport step = trainer_->step();
    report(step, watch.seconds());
    const std::int64_t done = step.step + 1;
    const bool stop = result_.stopped_by != 0;
    if (eval_every > 0 && done % eval_every == 0 && !stop) evaluate();
    if (save_every > 0 && (done % save_every == 0 || stop)) save();
  }
}

// What only the ranks together know: how busy each was, what memory each took,
// and whether one was asked to stop.
void RankRun::report(const runtime::StepReport& step, double seconds) {
  result_.loss = step.loss;
  const double own[] = {step.times.compute_seconds,
                        static_cast<double>(kernels::memory_count().peak_bytes),
                        static_cast<double>(signal_ ? signal_->received() : 0)};
  const std::vector<double> all = runtime::gather(*world_, own);
  metrics::StepRecord record;
  double busy = 0;
  for (std::size_t i = 0; i < all.size(); i += std::size(own)) {
    busy += all[i];
    record.peak_bytes.push_back(static_cast<std::int64_t>(all[i + 1]));
    if (all[i + 2] != 0) result_.stopped_by = static_cast<int>(all[i + 2]);
  }
  if (!is_first()) return;
  if (step.skipped) {
    reporter_->pause();
    spdlog::warn(
        "step {}: loss {} or gradient norm {} is not finite; no update",
        step.step, step.loss, step.grad_norm);
  }
  record.step = step.step;
  record.loss = step.loss;
  record.grad_norm = step.grad_norm;
  record.lr = step.lr;
  record.tokens = step.tokens;
  record.tokens_per_s = static_cast<double>(step.tokens) / seconds;
  record.step_ms = seconds * 1e3;
  record.bubble = std::max(0.0, 1 - busy / (seconds * world_->size()));
  reporter_->step(record);
}

void RankRun::evaluate() {
  const std::int64_t step = trainer_->state().step;
  if (evaluated_step_ == step) return;
  evaluated_step_ = step;
  const runtime::Evaluation evaluation = trainer_->evaluate();
  result_.validation_loss = evaluation.loss;
  if (is_first()) {
    reporter_->evaluation({step - 1, evaluation.loss, evaluation.tokens});
  }
}

void RankRun::save() {
  const runtime::TrainerState& state = trainer_->state();
  if (saved_step_ == state.step) return;
  saved_step_ = state.step;
  set_progress(state.step, -1, "checkpoint");
  if (reporter_) reporter_->sync();
  saver_->save(state, trainer_->parameters(), trainer_->optimizer());
}

std::optional<double> RankRun::entropy() const {
  if (!data_.validation || vocabulary_size_ == 0 ||
      data_.train->stream().size() > data::kScannedTokens) {
    return std::nullopt;
  }
  return data::unigram_entropy(data_.train->stream(),
                               data_.validation->stream(), vocabulary_size_);
}

RunResult RankRun::finish() {
  result_.steps = trainer_->state().step;
  if (result_.stopped_by == 0) {
    if (datasets_.validation) evaluate();
    if (config_.checkpoint.every > 0) save();
  }
  saver_->finish();
  if (is_first()) {
    reporter_->pause();
    result_.tokens_per_second = reporter_->tokens_per_second();
    result_.unigram_entropy = entropy();
  }
  set_progress(result_.steps, -1, "leaving");
  if (session_) session_->finish();
  return result_;
}

void RankRun::fail(const Error& error, bool because_of_peer) {
  try {
    recorder_.write(folder_, error.what());
  } catch (const Error& second) {
    spdlog::warn("{}", second.what());
  }
  if (session_) session_->heartbeat().fail(error.what(), because_of_peer);
}

// LibTorch's own messages end in pages of where they come from.
Error as_error(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return *ours;
  const auto* theirs = dynamic_cast<const c10::Error*>(&error);
  return {ErrorKind::kRuntime,
          theirs != nullptr ? theirs->what_without_backtrace() : error.what()};
}

// LibTorch's threads of a rank that is a thread: as the launcher has it.
int threads_of(std::int64_t ranks) {
  const int all = at::get_num_threads();
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return all;
  return std::max(1, all / static_cast<int>(ranks));
}

// The heartbeat's thread ends the process as soon as the watcher has decided;
// where nobody does, a rank that lost another goes by itself.
constexpr unsigned kVerdictSeconds = 12;

}  // namespace

RunResult train_rank(const config::Config& config,
                     const dist::LaunchEnvironment& environment,
                     const std::function<runtime::TrainableModel()>& make_model,
                     const runtime::Datasets& own_data) {
  // Left standing when it fails beside others: its threads may hang.
  auto* run = new RankRun(config, environment, own_data, nullptr);
  std::optional<Error> failure;
  bool because_of_peer = false;
  try {
    const RunResult result = run->run(make_model);
    delete run;
    return result;
  } catch (const dist::PeerError& error) {
    failure = error;
    because_of_peer = true;
  } catch (const std::exception& error) {
    failure = as_error(error);
  }
  if (environment.world_size == 1) {
    delete run;
  } else {
    run->fail(*failure, because_of_peer);
    if (because_of_peer) sleep(kVerdictSeconds);
  }
  throw *failure;
}

RunResult train_threads(
    const config::Config& config, const config::Layout& layout,
    const std::function<runtime::TrainableModel()>& make_model,
    const runtime::Datasets& own_data) {
  make_run_folder(config.run.dir, "");
  const int threads = threads_of(layout.world());
  RankThreads ranks(layout);
  RunResult first;
  ranks.run([&](int rank, dist::GroupFactory& factory) {
    at::set_num_threads(threads);
    dist::LaunchEnvironment environment;
    environment.rank = rank;
    environment.world_size = environment.local_world_size =
        static_cast<int>(layout.world());
    RankRun run(config, environment, own_data, &factory);
    ranks.guard([&] {
      try {
        const RunResult result = run.run(make_model);
        if (rank == 0) first = result;
      } catch (const std::exception& error) {
        const Error failure = as_error(error);
        run.fail(failure, false);
        throw failure;
      }
    });
  });
  return first;
}

}  // namespace merak::run
