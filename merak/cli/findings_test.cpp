#include "merak/cli/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <map>
#include <utility>

namespace merak::cli {
namespace {

using ::testing::HasSubstr;

Variables with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](
             const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(Findings, Threads) {
  const auto threads = [](const std::string& value) {
    return find_threads(with({{"OMP_NUM_THREADS", value}}), 4);
  };
  EXPECT_EQ(find_threads(with({}), 4).status, Status::kOk);
  EXPECT_EQ(threads("2").status, Status::kOk);
  EXPECT_EQ(threads("4,2").status, Status::kOk);
  EXPECT_EQ(threads("5").status, Status::kNote);
  for (const char* bad : {"0", "-1", "many", "2x", "99999999999"}) {
    EXPECT_EQ(threads(bad).status, Status::kMissing) << bad;
    EXPECT_THAT(threads(bad).remedy, HasSubstr("unset OMP_NUM_THREADS"));
  }
}

TEST(Findings, BuildTools) {
  EXPECT_THAT(find_build_tools(with({{"PATH", "/nonexistent"}})).value,
              HasSubstr("not in PATH: c++, cmake, ninja"));
  EXPECT_EQ(find_build_tools(with({})).status, Status::kNote);
}

TEST(Findings, Disk) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "merak-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  // A run folder that is not there yet counts as where it would be made.
  EXPECT_THAT(find_disk(fs::path(folder) / "a" / "b").value,
              HasSubstr("free in " + folder));
  std::ofstream(folder + "/file") << "x";
  EXPECT_EQ(find_disk(fs::path(folder) / "file" / "b").status,
            Status::kMissing);
  fs::remove_all(folder);
}

TEST(Findings, Network) {
  EXPECT_EQ(find_network(with({{"GLOO_SOCKET_IFNAME", "lo"}})).status,
            Status::kOk);
  EXPECT_EQ(find_network(with({{"GLOO_SOCKET_IFNAME", "no-such0"}})).status,
            Status::kMissing);
}

TEST(Findings, Launcher) {
  EXPECT_THAT(find_launcher(with({})).value, HasSubstr("none"));
  EXPECT_THAT(find_launcher(with({{"RANK", "1"},
                                  {"WORLD_SIZE", "4"},
                                  {"LOCAL_RANK", "1"},
                                  {"LOCAL_WORLD_SIZE", "4"},
                                  {"MASTER_ADDR", "127.0.0.1"},
                                  {"MASTER_PORT", "29500"}}))
                  .value,
              HasSubstr("rank 1 of 4, rendezvous 127.0.0.1:29500"));
  EXPECT_EQ(find_launcher(with({{"RANK", "x"}, {"WORLD_SIZE", "4"}})).status,
            Status::kMissing);
}

TEST(Findings, WhatIsNotOkHasARemedy) {
  for (const Variables& variables :
       {with({}), with({{"OMP_NUM_THREADS", "x"}, {"RANK", "7"}})}) {
    for (const Finding& finding : find_all(variables, ".")) {
      EXPECT_FALSE(finding.value.empty()) << finding.name;
      EXPECT_EQ(finding.remedy.empty(), finding.status == Status::kOk)
          << finding.name << ": " << finding.value;
    }
  }
}

}  // namespace
}  // namespace merak::cli
