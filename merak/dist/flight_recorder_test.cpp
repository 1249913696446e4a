#include "merak/dist/flight_recorder.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "merak/base/error.h"

namespace merak::dist {
namespace {

TEST(FlightRecorder, KeepsTheLastAndShowsWhatHasNotEnded) {
  FlightRecorder recorder(3, "[pp1 dp1 tp0]", 3);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t entry =
        recorder.begin("action", 7, i, "forward of stage 1");
    if (i != 4) recorder.end(entry);
  }
  recorder.end(0);  // forgotten: must not end entry 3, which lies in its place
  const auto json = nlohmann::json::parse(recorder.json("rank 2 is gone"));
  EXPECT_EQ(json["rank"], 3);
  EXPECT_EQ(json["label"], "[pp1 dp1 tp0]");
  EXPECT_EQ(json["reason"], "rank 2 is gone");
  EXPECT_EQ(json["dropped"], 2);
  ASSERT_EQ(json["entries"].size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const auto& entry = json["entries"][static_cast<std::size_t>(i)];
    EXPECT_EQ(entry["number"], i + 2);
    EXPECT_EQ(entry["micro_batch"], i + 2);
    EXPECT_EQ(entry["end_us"].is_null(), i == 2);
  }
}

TEST(FlightRecorder, WritesAFileOrSaysWhyNot) {
  std::string pattern = testing::TempDir() + "merak-flight-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  FlightRecorder recorder(0, "", 4);
  recorder.begin("send", 0, 0, "text that is no UTF-8: \xff");
  recorder.write(pattern, "test");
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(pattern) /
                                      "flight-0.json"));
  std::filesystem::remove_all(pattern);
  EXPECT_THROW(recorder.write(pattern, "test"), Error);
}

}  // namespace
}  // namespace merak::dist
