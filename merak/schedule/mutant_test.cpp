// Every small change of a sound schedule is either refused, naming rank and
// index, or sound by a second opinion: a plain simulation of blocking ranks
// that shares no code with the validator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "merak/base/error.h"
#include "merak/schedule/build.h"
#include "merak/schedule/text.h"
#include "merak/schedule/validate.h"

namespace merak::schedule {
namespace {

using enum ActionType;

struct Pipeline {
  std::string name;
  int stages;  // rank r has stage r
  int micro_batches;
  std::vector<Edge> edges;
};

class SecondOpinion {
 public:
  SecondOpinion(const ActionLists& lists, const Pipeline& pipeline)
      : lists_(lists), pipeline_(pipeline), next_(lists.size(), 0) {}

  bool sound() { return has_the_right_actions() && runs_to_the_end(); }

 private:
  bool has_the_right_actions() const {
    for (int s = 0; s < pipeline_.stages; ++s) {
      std::multiset<Action> expected = {reduce_tied_gradients(),
                                        reduce_gradients(s), optimizer_step()};
      for (int i = 0; i < pipeline_.micro_batches; ++i) {
        expected.insert({forward(s, i), backward(s, i)});
        expected.merge(messages(s, i));
      }
      const ActionList& list = lists_[static_cast<std::size_t>(s)];
      if (std::multiset<Action>(list.begin(), list.end()) != expected) {
        return false;
      }
    }
    return true;
  }

  std::multiset<Action> messages(int s, int i) const {
    std::multiset<Action> expected;
    for (const Edge& e : pipeline_.edges) {
      if (e.source == s) {
        expected.insert(send_activation(s, i, e.destination));
        if (e.differentiable) {
          expected.insert(receive_gradient(s, i, e.destination));
        }
      }
      if (e.destination == s) {
        expected.insert(receive_activation(s, i, e.source));
        if (e.differentiable) expected.insert(send_gradient(s, i, e.source));
      }
    }
    return expected;
  }

  bool runs_to_the_end() {
    while (turn()) {
    }
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      if (next_[r] != lists_[r].size()) return false;
    }
    return true;
  }

  const Action* head(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return next_[r] < lists_[r].size() ? &lists_[r][next_[r]] : nullptr;
  }

  // Runs one action, or one message, or one barrier; false if nothing can run.
  bool turn() {
    for (int r = 0; r < pipeline_.stages; ++r) {
      const Action* a = head(r);
      if (!a || !values_there(*a)) continue;
      if (a->type == kSendActivation || a->type == kSendGradient) {
        const Action* b = head(a->peer);
        const auto wanted =
            a->type == kSendActivation ? kReceiveActivation : kReceiveGradient;
        if (!b || b->type != wanted || b->peer != r ||
            b->micro_batch != a->micro_batch) {
          continue;
        }
        done_.insert({*a, *b});
        ++next_[static_cast<std::size_t>(a->peer)];
      } else if (a->type == kReceiveActivation || a->type == kReceiveGradient) {
        continue;  // the sender moves both
      } else if (a->type == kReduceTiedGradients || a->type == kOptimizerStep) {
        if (!all_at(a->type)) continue;
        for (std::size_t& next : next_) ++next;
        return true;
      } else {
        done_.insert(*a);
      }
      ++next_[static_cast<std::size_t>(r)];
      return true;
    }
    return false;
  }

  bool all_at(ActionType type) const {
    for (int r = 0; r < pipeline_.stages; ++r) {
      if (!head(r) || head(r)->type != type) return false;
      if (type == kOptimizerStep &&
          next_[static_cast<std::size_t>(r)] + 1 !=
              lists_[static_cast<std::size_t>(r)].size()) {
        return false;
      }
    }
    return true;
  }

  bool backwards_done(int stage) const {
    for (int i = 0; i < pipeline_.micro_batches; ++i) {
      if (!done_.contains(backward(stage, i))) return false;
    }
    return true;
  }

  bool values_there(const Action& a) const {
    const auto all = [&](auto&& wants) {
      return std::ranges::all_of(pipeline_.edges, wants);
    };
    const int s = a.stage;
    const int i = a.micro_batch;
    switch (a.type) {
      case kForward:
        return all([&](const Edge& e) {
          return e.destination != s ||
                 done_.contains(receive_activation(s, i, e.source));
        });
      case kBackward:
        return done_.contains(forward(s, i)) && all([&](const Edge& e) {
                 return e.source != s || !e.differentiable ||
                        done_.contains(receive_gradient(s, i, e.destination));
               });
      case kSendActivation:
        return done_.contains(forward(s, i));
      case kSendGradient:
        return done_.contains(backward(s, i));
      case kReduceGradients:
        return backwards_done(s);
      case kReduceTiedGradients:
        for (int stage = 0; stage < pipeline_.stages; ++stage) {
          if (!backwards_done(stage)) return false;
        }
        return true;
      default:
        return true;
    }
  }

  const ActionLists& lists_;
  const Pipeline& pipeline_;
  std::vector<std::size_t> next_;
  std::set<Action> done_;
};

using Mutants = std::vector<std::pair<std::string, ActionLists>>;

void add_retargets(const ActionLists& lists, std::size_t r, std::size_t i,
                   Mutants& mutants) {
  const auto add = [&](const char* what, auto&& change) {
    ActionLists mutant = lists;
    change(mutant[r][i]);
    if (mutant != lists) mutants.emplace_back(what, std::move(mutant));
  };
  for (const int by : {-1, 1}) {
    add("stage", [&](Action& a) { a.stage += by; });
    add("micro-batch", [&](Action& a) { a.micro_batch += by; });
    add("peer", [&](Action& a) { a.peer += by; });
  }
  for (int type = 0; type <= static_cast<int>(kOptimizerStep); ++type) {
    add("type", [&](Action& a) { a.type = static_cast<ActionType>(type); });
  }
}

Mutants mutants_of(const ActionLists& lists) {
  Mutants mutants;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    for (std::size_t i = 0; i < lists[r].size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      ActionLists drop = lists;
      drop[r].erase(drop[r].begin() + at);
      mutants.emplace_back("drop", std::move(drop));
      for (std::size_t j = i; j <= lists[r].size(); ++j) {
        ActionLists twice = lists;
        twice[r].insert(twice[r].begin() + static_cast<std::ptrdiff_t>(j),
                        lists[r][i]);
        mutants.emplace_back("duplicate", std::move(twice));
      }
      for (std::size_t j = i + 1; j < lists[r].size(); ++j) {
        ActionLists swap = lists;
        std::swap(swap[r][i], swap[r][j]);
        mutants.emplace_back("swap", std::move(swap));
      }
      ActionLists moved = lists;
      moved[r].erase(moved[r].begin() + at);
      moved[(r + 1) % lists.size()].push_back(lists[r][i]);
      if (moved != lists) mutants.emplace_back("other rank", std::move(moved));
      add_retargets(lists, r, i, mutants);
    }
  }
  return mutants;
}

std::vector<Pipeline> pipelines() {
  std::vector<Pipeline> pipelines;
  for (const char* name : {"gpipe", "1f1b"}) {
    pipelines.push_back({name, 1, 1, {}});
    pipelines.push_back({name, 1, 3, {}});
    pipelines.push_back({name, 2, 1, chain(2)});
    pipelines.push_back({name, 2, 3, chain(2)});
    pipelines.push_back({name, 3, 2, {{0, 1}, {0, 2}, {1, 2}}});
    pipelines.push_back({name, 3, 3, {{0, 1}, {0, 2, false}, {1, 2}}});
    pipelines.push_back({name, 4, 2, {{0, 1}, {1, 2}, {1, 3}, {2, 3}}});
  }
  return pipelines;
}

TEST(Mutants, AreRefusedByPlaceOrSound) {
  std::size_t refused = 0;
  std::size_t sound = 0;
  for (const Pipeline& pipeline : pipelines()) {
    const ActionLists lists = make_schedule(
        pipeline.name,
        {.stages = pipeline.stages, .micro_batches = pipeline.micro_batches},
        pipeline.edges);
    ASSERT_TRUE(SecondOpinion(lists, pipeline).sound());
    const Rules rules{.stages = pipeline.stages,
                      .micro_batches = pipeline.micro_batches,
                      .edges = pipeline.edges};
    for (const auto& [what, mutant] : mutants_of(lists)) {
      const bool second = SecondOpinion(mutant, pipeline).sound();
      try {
        validate(mutant, rules);
        ASSERT_TRUE(second) << what << " passed:\n" << to_text(mutant);
        ++sound;
      } catch (const Error& error) {
        ASSERT_FALSE(second) << what << ": " << error.what() << "\n"
                             << to_text(mutant);
        ASSERT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
        ASSERT_THAT(error.what(),
                    testing::ContainsRegex("rank [0-9]+, action [0-9]+ \\("));
        ++refused;
      }
    }
  }
  // Both kinds are met, or this test tells nothing.
  EXPECT_GT(refused, 5000u);
  EXPECT_GT(sound, 50u);
}

}  // namespace
}  // namespace merak::schedule
