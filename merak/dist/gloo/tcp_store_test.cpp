#include "merak/dist/gloo/tcp_store.h"

#include <gmock/gmock.h>

#include <thread>

#include "merak/base/error.h"
#include "merak/dist/communicator.h"
#include "merak/dist/gloo/gloo_test_ranks.h"

namespace merak::dist {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(TcpStore, CountsAndKeepsTheFirst) {
  TestRendezvous rendezvous(2);
  TcpStore zero(rendezvous.environment(0), milliseconds(30000));
  TcpStore one(rendezvous.environment(1), milliseconds(30000));
  EXPECT_EQ(zero.add("n", 2), 2);
  EXPECT_EQ(one.add("n", -5), -3);
  EXPECT_EQ(zero.set_once("k", "first"), "first");
  EXPECT_EQ(one.set_once("k", "second"), "first");
  one.set("k", "third");
  EXPECT_EQ(zero.wait("k", milliseconds(5000)), "third");
  EXPECT_EQ(zero.wait("absent", milliseconds(50)), std::nullopt);
  EXPECT_EQ(zero.wait("absent", milliseconds(0)), std::nullopt);
  EXPECT_TRUE(one.has("k"));
  EXPECT_FALSE(one.has("absent"));
}

TEST(TcpStore, WaitsForAKeyOfAnotherRank) {
  TestRendezvous rendezvous(2);
  TcpStore zero(rendezvous.environment(0), milliseconds(30000));
  TcpStore one(rendezvous.environment(1), milliseconds(30000));
  std::thread setter([&] {
    std::this_thread::sleep_for(milliseconds(100));
    one.set("late", "value");
  });
  EXPECT_EQ(zero.wait("late", milliseconds(30000)), "value");
  setter.join();
}

TEST(TcpStore, TheStartBarrierNamesTheMissing) {
  TestRendezvous rendezvous(4);
  std::string errors[2];
  const auto start = [&](int rank, std::string& error) {
    try {
      TcpStore store(rendezvous.environment(rank), milliseconds(30000));
      start_barrier(store, rank, 4, milliseconds(400));
    } catch (const Error& caught) {
      error = caught.what();
    }
  };
  std::thread other([&] { start(2, errors[1]); });
  start(0, errors[0]);
  other.join();
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("waited 0.4 s for ranks 1, 3 of 4"));
  }
}

TEST(TcpStore, AnAbsentHostIsNamed) {
  TestRendezvous rendezvous(2);
  const LaunchEnvironment environment = rendezvous.environment(1);
  rendezvous.release();
  try {
    TcpStore store(environment, milliseconds(300));
    FAIL();
  } catch (const PeerError& error) {
    EXPECT_THAT(error.what(), HasSubstr("waited for rank 0"));
    EXPECT_THAT(error.what(),
                HasSubstr(fmt::format("127.0.0.1:{}", environment.port)));
  }
}

TEST(TcpStore, ATakenPortIsNamed) {
  const Listener taken = listen_tcp("127.0.0.1", 0);
  LaunchEnvironment environment;
  environment.launcher = Launcher::kTorchrun;
  environment.host = "127.0.0.1";
  environment.port = taken.port;
  try {
    TcpStore store(environment, milliseconds(300));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("set MASTER_PORT to a free port"));
  }
}

TEST(TcpStore, ALostStoreIsAPeersFault) {
  TestRendezvous rendezvous(2);
  auto zero = std::make_unique<TcpStore>(rendezvous.environment(0),
                                         milliseconds(30000));
  TcpStore one(rendezvous.environment(1), milliseconds(30000));
  zero.reset();
  EXPECT_THROW(one.wait("k", milliseconds(10000)), PeerError);
}

}  // namespace
}  // namespace merak::dist
