#include "merak/dist/gloo/gloo_communicator.h"

#include <gmock/gmock.h>

#include <array>
#include <mutex>

#include "merak/base/error.h"
#include "merak/dist/communicator_conformance.h"
#include "merak/dist/gloo/gloo_test_ranks.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A factory that owns its rank's store.
class RankFactory : public GroupFactory {
 public:
  RankFactory(TestRendezvous& rendezvous, std::mutex& mutex, int rank,
              const GlooOptions& options)
      : store_(locked_environment(rendezvous, mutex, rank),
               milliseconds(30000)),
        factory_(make_gloo_factory(
            store_, rank, rendezvous.environment(1).world_size, options)) {}
  int rank() const override { return factory_->rank(); }
  int world_size() const override { return factory_->world_size(); }

 private:
  static LaunchEnvironment locked_environment(TestRendezvous& rendezvous,
                                              std::mutex& mutex, int rank) {
    const std::lock_guard lock(mutex);
    return rendezvous.environment(rank);
  }
  std::unique_ptr<Communicator> do_make_group(const std::string& name,
                                              std::span<const int> members,
                                              int) override {
    return factory_->make_group(name, members);
  }

  TcpStore store_;
  std::unique_ptr<GroupFactory> factory_;
};

void run_gloo(int ranks, const RankBody& body,
              const GlooOptions& options = {}) {
  TestRendezvous rendezvous(ranks);
  std::mutex mutex;
  run_rank_threads(
      ranks,
      [&](int rank) {
        return std::make_unique<RankFactory>(rendezvous, mutex, rank, options);
      },
      [&](GroupFactory& factory) {
        body(factory);
        // Rank 0's store serves the others until they are done.
        std::vector<int> members;
        for (int i = 0; i < ranks; ++i) members.push_back(i);
        factory.make_group("end", members)->barrier()->wait();
      });
}

INSTANTIATE_TEST_SUITE_P(
    Gloo, CommunicatorConformance,
    testing::ValuesIn(conformance_cases([](int ranks, const RankBody& body) {
      run_gloo(ranks, body);
    })),
    case_name);

TEST(Gloo, ALostPeerBreaksTheGroup) {
  run_gloo(3, [](GroupFactory& factory) {
    const std::array members = {0, 1, 2};
    auto group = factory.make_group("dp.0", members);
    if (factory.rank() == 1) {
      group.reset();
      return;
    }
    std::array<float, 1000> data{};
    const Buffer buffer = {data.data(), 1000, DType::kF32};
    try {
      group->all_reduce(buffer, ReduceOp::kSum)->wait();
      ADD_FAILURE() << "reduced without rank 1";
    } catch (const PeerError& error) {
      EXPECT_THAT(error.what(), HasSubstr("group dp.0, rank"));
      EXPECT_THAT(error.what(), HasSubstr("all_reduce 0 of 1000 f32 failed"));
    }
    EXPECT_THROW(group->barrier(), PeerError);
  });
}

TEST(Gloo, ATimeoutIsAPeersFault) {
  GlooOptions options;
  options.timeout = milliseconds(1500);
  run_gloo(
      2,
      [](GroupFactory& factory) {
        const std::array members = {0, 1};
        const auto group = factory.make_group("pp.0", members);
        std::array<std::byte, 8> data{};
        if (factory.rank() == 1) {
          EXPECT_THROW(group->receive(data, 0, 3)->wait(), PeerError);
          EXPECT_THROW(group->send(data, 0, 3), PeerError);
        } else {
          std::this_thread::sleep_for(milliseconds(2000));
        }
      },
      options);
}

TEST(Gloo, AnAddressOfAnotherHostIsRefused) {
  TestRendezvous rendezvous(1);
  const TcpStore store(rendezvous.environment(0), milliseconds(30000));
  GlooOptions options;
  options.address = "192.0.2.1";  // RFC 5737: nobody's
  try {
    make_gloo_factory(store, 0, 1, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("GLOO_SOCKET_IFNAME"));
  }
}

TEST(Gloo, OptionsFollowTheEnvironment) {
  LaunchEnvironment environment;
  EXPECT_EQ(gloo_options(environment).address, "127.0.0.1");
  environment.host = "127.0.0.1";
  environment.world_size = 4;
  environment.local_world_size = 2;
  EXPECT_EQ(gloo_options(environment).address, "127.0.0.1");
}

}  // namespace
}  // namespace merak::dist
