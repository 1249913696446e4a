#include "merak/dist/recorded.h"

#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>

#include "merak/base/error.h"
#include "merak/dist/communicator_conformance.h"
#include "merak/dist/fake.h"
#include "merak/dist/in_process.h"

namespace merak::dist {
namespace {

using ::testing::ElementsAre;

// A recorder and a recorded factory of a rank.
class RecordedRank : public GroupFactory {
 public:
  explicit RecordedRank(std::unique_ptr<GroupFactory> inner)
      : inner_(std::move(inner)),
        recorder_(inner_->rank(), "", 64),
        recorded_(make_recorded_factory(*inner_, recorder_)) {}
  int rank() const override { return recorded_->rank(); }
  int world_size() const override { return recorded_->world_size(); }
  FlightRecorder& recorder() { return recorder_; }

  nlohmann::json entries() const {
    return nlohmann::json::parse(recorder_.json("")).at("entries");
  }
  // "KIND WHAT", with a * at what has not ended.
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const auto& entry : entries()) {
      texts.push_back(entry.at("kind").get<std::string>() + " " +
                      entry.at("what").get<std::string>() +
                      (entry.at("end_us").is_null() ? " *" : ""));
    }
    return texts;
  }

 private:
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int) override {
    return recorded_->make_group(name, members);
  }

  std::unique_ptr<GroupFactory> inner_;
  FlightRecorder recorder_;
  std::unique_ptr<GroupFactory> recorded_;
};

void run_recorded(int ranks, const RankBody& body) {
  const InProcessWorld world(ranks);
  run_rank_threads(
      ranks,
      [&](int rank) {
        return std::make_unique<RecordedRank>(world.factory(rank));
      },
      body);
}

INSTANTIATE_TEST_SUITE_P(Recorded, CommunicatorConformance,
                         testing::ValuesIn(conformance_cases(run_recorded)),
                         case_name);

TEST(Recorded, EveryOperationIsAnEntry) {
  RecordedRank rank(make_fake_factory(1, 3));
  const std::array members = {0, 1, 2};
  const auto group = rank.make_group("dp.0", members);
  std::array<float, 6> data{};
  const Buffer buffer{data.data(), 2, DType::kF32};
  const auto bytes = std::as_writable_bytes(std::span(data));
  group->all_reduce(buffer, ReduceOp::kMax)->wait();
  group->all_gather(buffer, {data.data(), 6, DType::kF32})->wait();
  group->broadcast(buffer, 2)->wait();
  group->barrier()->wait();
  group->send(bytes, 0, 7)->wait();
  const WorkHandle pending = group->receive(bytes, 2, 8);
  EXPECT_THAT(
      rank.texts(),
      ElementsAre("all_reduce dp.0: 2 f32 max", "all_gather dp.0: 2 f32",
                  "broadcast dp.0: 2 f32 from 2", "barrier dp.0: of 3 ranks",
                  "send dp.0: 24 bytes to 0, tag 7",
                  "receive dp.0: 24 bytes from 2, tag 8 *"));
  pending->wait();
  EXPECT_FALSE(rank.entries().back().at("end_us").is_null());
}

TEST(Recorded, EntriesBelongToTheActionAtHand) {
  RecordedRank rank(make_fake_factory(0, 2));
  const std::array members = {0, 1};
  const auto group = rank.make_group("world", members);
  group->barrier()->wait();
  rank.recorder().begin("action", 7, 3, "forward of stage 0");
  group->barrier()->wait();
  EXPECT_EQ(rank.entries().front().at("step"), -1);
  EXPECT_EQ(rank.entries().back().at("step"), 7);
  EXPECT_EQ(rank.entries().back().at("micro_batch"), 3);
}

TEST(Recorded, WhatFailedHasNoEnd) {
  const InProcessWorld world(2);
  RecordedRank rank(world.factory(0));
  const std::array members = {0, 1};
  const auto group = rank.make_group("world", members);
  const WorkHandle work = group->barrier();
  world.abort("rank 1 is gone");
  EXPECT_THROW(work->wait(), PeerError);
  EXPECT_THAT(rank.texts(), ElementsAre("barrier world: of 2 ranks *"));
}

TEST(Recorded, NoMemberHasNoGroup) {
  RecordedRank rank(make_fake_factory(0, 3));
  const std::array members = {1, 2};
  EXPECT_EQ(rank.make_group("others", members), nullptr);
}

}  // namespace
}  // namespace merak::dist
