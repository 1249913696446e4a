#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "merak/base/error.h"
#include "merak/schedule/in_flight.h"
#include "merak/schedule/text.h"
#include "merak/schedule/validate_parts.h"

namespace merak::schedule {

namespace {

using enum ActionType;

// Walks one rank's list with the set of what may come and of what has come.
class RankCheck {
 public:
  RankCheck(const ActionLists& lists, std::size_t rank,
            const std::vector<int>& rank_of_stage, const Rules& rules)
      : lists_(lists), rank_(rank), ranks_(rank_of_stage), rules_(rules) {
    for (int stage = 0; stage < rules.stages; ++stage) {
      if (is_here(stage)) add_stage(stage);
    }
    if (rules_.training) {
      required_.insert(reduce_tied_gradients());
      required_.insert(optimizer_step());
    }
  }

  void run() {
    for (const Action& action : lists_[rank_]) {
      if (!required_.contains(action) && !optional_.contains(action)) {
        fail_here(why_not(action));
      }
      if (done_.contains(action)) fail_here("it comes a second time");
      check_place(action);
      done_.insert(action);
      check_in_flight(action);
      ++index_;
    }
    check_complete();
  }

 private:
  bool is_here(int stage) const {
    return ranks_[static_cast<std::size_t>(stage)] == static_cast<int>(rank_);
  }

  void add_stage(int stage) {
    for (int i = 0; i < rules_.micro_batches; ++i) {
      optional_.insert(load(stage, i));
      required_.insert(forward(stage, i));
      if (rules_.training) {
        optional_.insert({recompute(stage, i), backward(stage, i),
                          backward_input(stage, i), backward_weight(stage, i)});
      }
      for (const Edge& edge : rules_.edges) add_messages(edge, stage, i);
    }
    if (rules_.training) required_.insert(reduce_gradients(stage));
  }

  // The ends of an edge's messages that lie on `stage`.
  void add_messages(const Edge& edge, int stage, int i) {
    const bool back = rules_.training && edge.differentiable;
    if (edge.source == stage && !is_here(edge.destination)) {
      required_.insert(send_activation(stage, i, edge.destination));
      if (back) required_.insert(receive_gradient(stage, i, edge.destination));
    }
    if (edge.destination == stage && !is_here(edge.source)) {
      required_.insert(receive_activation(stage, i, edge.source));
      if (back) required_.insert(send_gradient(stage, i, edge.source));
    }
  }

  std::string why_not(const Action& action) const {
    const bool of_step = ends_step(action.type);
    if (!of_step && (action.micro_batch < 0 ||
                     action.micro_batch >= rules_.micro_batches)) {
      return fmt::format("there is no micro-batch {}; they are 0 to {}",
                         action.micro_batch, rules_.micro_batches - 1);
    }
    if (is_message(action.type)) {
      return fmt::format(
          "no such message is needed; values of stage {} for stage {} have "
          "none this way",
          std::min(action.stage, action.peer),
          std::max(action.stage, action.peer));
    }
    if (!rules_.training) return "an evaluation has loads and forwards only";
    return "it does not fit this model";
  }

  void check_place(const Action& action) const {
    const int stage = action.stage;
    const int i = action.micro_batch;
    must_not_follow(optimizer_step());
    switch (action.type) {
      case kLoad:
        return must_not_follow(forward(stage, i));
      case kForward:
        return need_activations(stage, i);
      case kRecompute:
        must_follow(forward(stage, i));
        must_not_follow(backward(stage, i));
        return must_not_follow(backward_input(stage, i));
      case kBackward:
        must_not_follow(backward_input(stage, i));
        need_gradients(stage, i);
        return check_before_reductions(stage);
      case kBackwardInput:
        must_not_follow(backward(stage, i));
        return need_gradients(stage, i);
      case kBackwardWeight:
        must_follow(backward_input(stage, i));
        return check_before_reductions(stage);
      case kSendActivation:
        return must_follow(forward(stage, i));
      case kSendGradient:
        return must_follow_gradient(stage, i);
      default:
        return;
    }
  }

  void need_activations(int stage, int i) const {
    for (const Edge& edge : rules_.edges) {
      if (edge.destination != stage) continue;
      must_follow(is_here(edge.source)
                      ? forward(edge.source, i)
                      : receive_activation(stage, i, edge.source));
    }
  }

  void need_gradients(int stage, int i) const {
    must_follow(forward(stage, i));
    for (const Edge& edge : rules_.edges) {
      if (edge.source != stage || !edge.differentiable) continue;
      if (is_here(edge.destination)) {
        must_follow_gradient(edge.destination, i);
      } else {
        must_follow(receive_gradient(stage, i, edge.destination));
      }
    }
  }

  void check_before_reductions(int stage) const {
    must_not_follow(reduce_gradients(stage));
    must_not_follow(reduce_tied_gradients());
  }

  void must_follow(const Action& other) const {
    if (!done_.contains(other)) {
      fail_here(fmt::format("{} must come before it", to_text(other)));
    }
  }

  void must_follow_gradient(int stage, int i) const {
    if (!done_.contains(backward_input(stage, i))) {
      must_follow(backward(stage, i));
    }
  }

  void must_not_follow(const Action& other) const {
    if (done_.contains(other)) {
      fail_here(fmt::format("it must not come after {}", to_text(other)));
    }
  }

  void check_in_flight(const Action& action) {
    in_flight_ += in_flight_change(action.type);
    if (rules_.max_in_flight > 0 && in_flight_ > rules_.max_in_flight) {
      fail_here(fmt::format("{} micro-batches are in flight; the limit is {}",
                            in_flight_, rules_.max_in_flight));
    }
  }

  void check_complete() const {
    for (const Action& action : required_) need_at_end(action);
    if (!rules_.training) return;
    for (const Action& action : required_) {
      if (action.type != kForward) continue;
      const int stage = action.stage;
      const int i = action.micro_batch;
      need_at_end(done_.contains(backward_input(stage, i))
                      ? backward_weight(stage, i)
                      : backward(stage, i));
    }
  }

  void need_at_end(const Action& action) const {
    if (!done_.contains(action)) {
      fail_here(fmt::format("{} is missing", to_text(action)));
    }
  }

  [[noreturn]] void fail_here(const std::string& fault) const {
    fail_usage("{}: {}", locate(lists_, rank_, index_), fault);
  }

  const ActionLists& lists_;
  std::size_t rank_;
  const std::vector<int>& ranks_;
  const Rules& rules_;
  std::set<Action> required_;  // once
  std::set<Action> optional_;  // at most once
  std::set<Action> done_;
  std::size_t index_ = 0;
  int in_flight_ = 0;
};

}  // namespace

void check_rank(const ActionLists& lists, std::size_t rank,
                const std::vector<int>& rank_of_stage, const Rules& rules) {
  RankCheck(lists, rank, rank_of_stage, rules).run();
}

}  // namespace merak::schedule
