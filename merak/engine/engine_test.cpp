// The engine over threads, in-process channels and stages that compute with
// integers: every schedule, message and sum, without LibTorch (and so under the
// thread sanitizer).
#include "merak/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "merak/base/error.h"
#include "merak/dist/in_process.h"
#include "merak/engine/lanes.h"
#include "merak/schedule/build.h"
#include "merak/schedule/registry.h"
#include "merak/schedule/text.h"
#include "merak/schedule/validate.h"

namespace merak::engine {
namespace {

using schedule::Action;
using schedule::ActionLists;
using schedule::Edge;
using testing::AllOf;
using testing::HasSubstr;
using Number = std::uint64_t;
using Key = std::pair<int, int>;  // stage, micro-batch

// A stage adds up what it is sent, and multiplies: order of micro-batches and
// every factor show in the sums.
Number forward_value(int stage, int micro_batch, Number inputs) {
  return 3 * inputs + 5 * static_cast<Number>(stage) +
         11 * static_cast<Number>(micro_batch) + 1;
}

Number add_weight_gradient(Number sum, Number gradient, Number value) {
  return 31 * sum + gradient * value;
}

// What one process would compute.
std::map<int, Number> expected_gradients(int stages, int micro_batches,
                                         const std::vector<Edge>& edges) {
  std::map<int, Number> sums;
  for (int m = 0; m < micro_batches; ++m) {
    std::vector<Number> value, gradient(static_cast<std::size_t>(stages));
    for (int s = 0; s < stages; ++s) {
      Number inputs = 0;
      for (const Edge& edge : edges) {
        if (edge.destination != s) continue;
        inputs += value[static_cast<std::size_t>(edge.source)];
      }
      value.push_back(forward_value(s, m, inputs));
    }
    for (int s = stages - 1; s >= 0; --s) {
      const auto i = static_cast<std::size_t>(s);
      if (s == stages - 1) gradient[i] = 1;
      for (const Edge& edge : edges) {
        if (edge.source != s || !edge.differentiable) continue;
        gradient[i] += 3 * gradient[static_cast<std::size_t>(edge.destination)];
      }
      sums[s] = add_weight_gradient(sums[s], gradient[i], value[i]);
    }
  }
  return sums;
}

class IntegerStages : public StageExecutor {
 public:
  IntegerStages(int stages, std::vector<Edge> edges)
      : stages_(stages), edges_(std::move(edges)) {}

  void load(int stage, int micro_batch) override {
    EXPECT_TRUE(loaded_.insert({stage, micro_batch}).second);
  }
  void forward(int stage, int micro_batch) override {
    if (micro_batch == fails_at) fail_runtime("the stub fails");
    const Key key{stage, micro_batch};
    loaded_.insert(key);
    value_[key] = forward_value(stage, micro_batch, inputs_[key]);
    for (const Edge& edge : edges_) {
      if (edge.source != stage) continue;
      put(schedule::send_activation(stage, micro_batch, edge.destination),
          value_[key]);
    }
  }
  void recompute(int, int) override {}
  void backward(int stage, int micro_batch, Accumulation weights) override {
    backward_input(stage, micro_batch);
    backward_weight(stage, micro_batch, weights);
  }
  void backward_input(int stage, int micro_batch) override {
    Number& gradient = gradient_[{stage, micro_batch}];
    if (stage == stages_ - 1) gradient += 1;
    for (const Edge& edge : edges_) {
      if (edge.destination != stage || !edge.differentiable) continue;
      put(schedule::send_gradient(stage, micro_batch, edge.source),
          3 * gradient);
    }
  }
  void backward_weight(int stage, int micro_batch,
                       Accumulation weights) override {
    const Key key{stage, micro_batch};
    Number& sum = sums[stage];
    sum = add_weight_gradient(weights.first ? 0 : sum, gradient_.at(key),
                              value_.at(key));
    EXPECT_FALSE(std::exchange(complete_[stage], weights.last));
    value_.erase(key);
    gradient_.erase(key);
    inputs_.erase(key);
    loaded_.erase(key);
  }

  std::vector<dist::MessagePart> outgoing(const Action& send) override {
    return parts(*messages_.at(send));
  }
  void sent(const Action& send) override {
    EXPECT_EQ(messages_.erase(send), 1U);
  }
  std::vector<dist::MessagePart> incoming(const Action& receive) override {
    auto& message = messages_[receive];
    EXPECT_EQ(message, nullptr);
    message = std::make_unique<Message>();
    return parts(*message);
  }
  void received(const Action& receive) override {
    take(receive.stage, receive.micro_batch,
         schedule::is_gradient_message(receive.type),
         (*messages_.at(receive))[1]);
    messages_.erase(receive);
  }

  void reduce_tied_gradients() override {}
  void reduce_gradients(int stage) override {
    EXPECT_TRUE(std::exchange(complete_[stage], false));
  }
  void optimizer_step() override {
    EXPECT_TRUE(messages_.empty() || gradient_.empty());
    ++steps;
  }

  bool empty() const {
    return messages_.empty() && value_.empty() && gradient_.empty();
  }

  // The stages that are this rank's: what goes to them needs no message.
  std::function<bool(int stage)> is_here;
  int fails_at = -1;
  std::map<int, Number> sums;
  int steps = 0;

 private:
  using Message = std::array<Number, 2>;  // of two parts
  static std::vector<dist::MessagePart> parts(Message& message) {
    return {{message.data(), sizeof(Number)},
            {message.data() + 1, sizeof(Number)}};
  }
  void put(const Action& send, Number value) {
    if (is_here(send.peer)) {
      take(send.peer, send.micro_batch,
           schedule::is_gradient_message(send.type), value);
      return;
    }
    messages_[send] = std::make_unique<Message>(Message{0, value});
  }
  void take(int stage, int micro_batch, bool gradient, Number value) {
    (gradient ? gradient_ : inputs_)[{stage, micro_batch}] += value;
  }

  int stages_;
  std::vector<Edge> edges_;
  std::set<Key> loaded_;
  std::map<Key, Number> value_, inputs_, gradient_;
  std::map<Action, std::unique_ptr<Message>> messages_;
  std::map<int, bool> complete_;
};

struct Training {
  int stages;
  int micro_batches;
  std::vector<Edge> edges;
  bool blocking = false;
  int steps = 2;
  int fails_at = -1;  // micro-batch
};

// All ranks on threads; sums of every stage after the last step.
std::map<int, Number> train(const ActionLists& lists, const Training& run) {
  const int ranks = static_cast<int>(lists.size());
  const std::vector<int> rank_of_stage =
      schedule::rank_of_stages(lists, run.stages);
  const dist::InProcessWorld world(ranks);
  std::map<int, Number> sums;
  std::mutex mutex;
  std::exception_ptr failure;
  // A failure must end the others before anything that waits for them goes.
  const auto run_steps = [&](Engine& engine) {
    try {
      for (int step = 0; step < run.steps; ++step) engine.run(step);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      world.abort(error.what());
    }
  };
  const auto train_rank = [&](int rank) {
    auto factory = world.factory(rank);
    IntegerStages stages(run.stages, run.edges);
    stages.fails_at = run.fails_at;
    stages.is_here = [&](int stage) {
      return rank_of_stage[static_cast<std::size_t>(stage)] == rank;
    };
    dist::PeerChannels channels(*factory, lanes(run.edges, rank_of_stage));
    Engine engine(lists[static_cast<std::size_t>(rank)], run.edges,
                  rank_of_stage, stages, &channels,
                  {.label = fmt::format("[pp{}]", rank),
                   .blocking = run.blocking,
                   .on_action = {}});
    run_steps(engine);
    const std::lock_guard lock(mutex);
    if (failure) return;
    EXPECT_TRUE(stages.empty());
    EXPECT_EQ(stages.steps, run.steps);
    sums.merge(stages.sums);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(train_rank, rank);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return sums;
}

TEST(Engine, GivesOneProcessesSumsForEverySchedule) {
  for (const schedule::Schedule& item : schedule::schedules()) {
    for (const int stages : {1, 2, 3, 5}) {
      for (const int micro_batches : {1, 2, 7}) {
        const schedule::ScheduleConfig config{.stages = stages,
                                              .micro_batches = micro_batches};
        if (!item.refusal(config).empty()) continue;
        for (const bool blocking : {false, true}) {
          const Training run{stages, micro_batches, schedule::chain(stages),
                             blocking};
          SCOPED_TRACE(fmt::format("{} {} stages {} micro-batches blocking {}",
                                   item.name, stages, micro_batches, blocking));
          const ActionLists lists =
              schedule::make_schedule(item.name, config, run.edges);
          EXPECT_EQ(train(lists, run),
                    expected_gradients(stages, micro_batches, run.edges));
        }
      }
    }
  }
}

TEST(Engine, CarriesSkipEdgesAndEdgesWithoutGradients) {
  const Training run{4, 5, {{0, 1}, {0, 3}, {1, 2}, {1, 3, false}, {2, 3}}};
  const ActionLists lists = schedule::make_schedule(
      "1f1b", {.stages = 4, .micro_batches = 5}, run.edges);
  EXPECT_EQ(train(lists, run), expected_gradients(4, 5, run.edges));
}

TEST(Engine, RunsAUsersScheduleWithTwoStagesARankAndHalvedBackwards) {
  const Training run{4, 2, schedule::chain(4)};
  const ActionLists lists = schedule::schedule_from_text(
      "rank 0: 0L1 0F0 0F1 3F0 3I0 3F1 3I1 0B0 3W0 0B1 3W1\n"
      "rank 1: 1F0 2F0 1F1 2F1 2B0 1B0 2I1 1I1 1W1 2W1\n",
      "test", {.stages = 4, .micro_batches = 2, .chunks = 2}, run.edges);
  EXPECT_EQ(train(lists, run), expected_gradients(4, 2, run.edges));
}

// Lists with two neighbouring actions exchanged, one repeated or one left out:
// the validator refuses them, or they compute the same.
TEST(Engine, EveryMutantIsRefusedOrTrainsToTheSameSums) {
  const Training run{3, 4, schedule::chain(3)};
  const auto expected = expected_gradients(3, 4, run.edges);
  int refused = 0, trained = 0;
  const auto judge = [&](const ActionLists& mutant) {
    try {
      schedule::validate(mutant, {3, 4, run.edges, true, 0});
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::ContainsRegex("rank [0-2], action"));
      ++refused;
      return;
    }
    EXPECT_EQ(train(mutant, run), expected) << schedule::to_text(mutant);
    ++trained;
  };
  for (const char* name : {"gpipe", "1f1b"}) {
    const ActionLists lists = schedule::make_schedule(
        name, {.stages = 3, .micro_batches = 4}, run.edges);
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      for (std::size_t i = 0; i < lists[rank].size(); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i);
        ActionLists without = lists, twice = lists;
        without[rank].erase(without[rank].begin() + at);
        judge(without);
        twice[rank].insert(twice[rank].begin() + at, lists[rank][i]);
        judge(twice);
        if (i + 1 == lists[rank].size()) continue;
        ActionLists exchanged = lists;
        std::swap(exchanged[rank][i], exchanged[rank][i + 1]);
        judge(exchanged);
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(trained, 10);
}

TEST(Engine, SaysWhereItFailed) {
  const Training run{3, 4, schedule::chain(3), false, 1, /*fails_at=*/2};
  const ActionLists lists = schedule::make_schedule(
      "1f1b", {.stages = 3, .micro_batches = 4}, run.edges);
  try {
    train(lists, run);
    FAIL() << "it did not fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_EQ(
        std::string(error.what()),
        "[pp0] step 0, micro-batch 2, forward of stage 0: the stub fails");
  }
}

TEST(Engine, TellsEveryActionBeforeItAndRecordsIt) {
  IntegerStages stages(1, {});
  stages.is_here = [](int) { return true; };
  std::vector<std::string> told;
  dist::FlightRecorder recorder(0, "[pp0]");
  const ActionLists lists =
      schedule::make_schedule("1f1b", {.stages = 1, .micro_batches = 1}, {});
  const std::array rank_of_stage = {0};
  Engine engine(
      lists[0], {}, rank_of_stage, stages, nullptr,
      {.label = "[pp0]",
       .on_action =
           [&](std::int64_t step, int micro_batch, const std::string& action) {
             told.push_back(fmt::format("{} {} {}", step, micro_batch, action));
           },
       .recorder = &recorder});
  const StepTimes times = engine.run(7);
  EXPECT_THAT(told, testing::ElementsAre("7 0 forward of stage 0",
                                         "7 0 backward of stage 0",
                                         "7 -1 tied gradient reduction",
                                         "7 -1 gradient reduction of stage 0",
                                         "7 -1 optimizer step"));
  EXPECT_THAT(recorder.json("test"),
              AllOf(HasSubstr("forward of stage 0"), HasSubstr("\"step\": 7")));
  EXPECT_GE(times.total_seconds, times.compute_seconds);
}

}  // namespace
}  // namespace merak::engine
