#include "merak/dist/in_process.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "merak/base/error.h"
#include "merak/dist/communicator_conformance.h"

namespace merak::dist {
namespace {

using testing::HasSubstr;

void run_in_process(int ranks, const RankBody& body) {
  const InProcessWorld world(ranks);
  run_rank_threads(ranks, [&](int rank) { return world.factory(rank); }, body);
}

INSTANTIATE_TEST_SUITE_P(InProcess, CommunicatorConformance,
                         testing::ValuesIn(conformance_cases(run_in_process)),
                         case_name);

// 1e8 + 1 is 1e8 in f32, so the order of the sum shows.
TEST(InProcess, SumsInRankOrder) {
  run_in_process(3, [](GroupFactory& factory) {
    const std::array members = {0, 1, 2};
    const auto group = factory.make_group("g", members);
    const std::array parts = {1.0f, 1e8f, -1e8f};
    float value = parts[static_cast<std::size_t>(group->rank())];
    group->all_reduce({&value, 1, DType::kF32}, ReduceOp::kSum)->wait();
    EXPECT_EQ(value, 0.0f);
  });
}

// 256 + 1 has no bf16, but 256 + 1 + 1 has: one rounding at the end.
TEST(InProcess, RoundsHalfTypesOnce) {
  run_in_process(3, [](GroupFactory& factory) {
    const std::array members = {0, 1, 2};
    const auto group = factory.make_group("g", members);
    std::uint16_t value = group->rank() == 0 ? 0x4380 : 0x3f80;
    group->all_reduce({&value, 1, DType::kBF16}, ReduceOp::kSum)->wait();
    EXPECT_EQ(value, 0x4381);  // 258
  });
}

TEST(InProcess, GroupRanksFollowTheListOfMembers) {
  run_in_process(3, [](GroupFactory& factory) {
    const std::array members = {2, 0};
    const auto group = factory.make_group("g", members);
    ASSERT_EQ(group == nullptr, factory.rank() == 1);
    if (!group) return;
    EXPECT_EQ(group->rank(), factory.rank() == 2 ? 0 : 1);
    EXPECT_EQ(group->size(), 2);
  });
}

template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(InProcess, MismatchedCollectivesNameBothSides) {
  const InProcessWorld world(2);
  std::array<std::string, 2> errors;
  run_rank_threads(
      2, [&](int rank) { return world.factory(rank); },
      [&](GroupFactory& factory) {
        const std::array members = {0, 1};
        const auto group = factory.make_group("dp.0", members);
        std::array<float, 3> data{};
        errors[static_cast<std::size_t>(factory.rank())] = error_of([&] {
          if (factory.rank() == 0) {
            group->broadcast({data.data(), 3, DType::kF32}, 1)->wait();
          } else {
            group->all_reduce({data.data(), 2, DType::kF32}, ReduceOp::kMax)
                ->wait();
          }
        });
      });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("group dp.0: collective 0"));
    EXPECT_THAT(error, HasSubstr("broadcast of 3 f32"));
    EXPECT_THAT(error, HasSubstr("all_reduce of 2 f32 (max"));
  }
}

TEST(InProcess, MismatchedMessagesNameBothSizes) {
  const InProcessWorld world(2);
  const std::array members = {0, 1};
  const auto a = world.factory(0)->make_group("pp.0", members);
  const auto b = world.factory(1)->make_group("pp.0", members);
  std::array<std::byte, 8> data{};
  const WorkHandle send = a->send(std::span(data).first(8), 1, 4);
  EXPECT_THAT(error_of([&] { b->receive(std::span(data).first(6), 0, 4); }),
              HasSubstr("rank 0 sends 8 bytes with tag 4, rank 1 receives 6"));
  EXPECT_THAT(error_of([&] { send->wait(); }), HasSubstr("receives 6"));
}

TEST(InProcess, AbortWakesThoseThatWait) {
  const InProcessWorld world(2);
  const std::array members = {0, 1};
  const auto group = world.factory(0)->make_group("world", members);
  const WorkHandle work = group->barrier();
  std::thread aborter([&] {
    world.abort("rank 1 is gone");
    world.abort("too late");
  });
  EXPECT_EQ(error_of([&] { work->wait(); }), "rank 1 is gone");
  EXPECT_EQ(error_of([&] { group->barrier(); }), "rank 1 is gone");
  aborter.join();
}

TEST(InProcess, BugsOfCallersAreNamed) {
  const InProcessWorld world(2);
  const std::array members = {0, 1};
  const auto factory = world.factory(0);
  const auto group = factory->make_group("g", members);
  std::array<float, 4> data{};
  const Buffer four = {data.data(), 4, DType::kF32};
  EXPECT_THROW(group->broadcast(four, 2), Error);
  EXPECT_THROW(group->all_gather(four, four), Error);
  EXPECT_THROW(
      group->all_reduce({data.data(), 4, DType::kBool}, ReduceOp::kSum), Error);
  EXPECT_THROW(group->send({}, 0, 0), Error);
  EXPECT_THROW(group->send({}, 1, -1), Error);
  const std::array twice = {0, 0};
  EXPECT_THROW(factory->make_group("h", twice), Error);
  const std::array beyond = {0, 2};
  EXPECT_THROW(factory->make_group("h", beyond), Error);
}

}  // namespace
}  // namespace merak::dist
