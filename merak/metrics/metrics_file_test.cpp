#include "merak/metrics/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"

namespace merak::metrics {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MetricsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "merak-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "metrics.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_steps(std::int64_t begin, std::int64_t end) {
    MetricsFile file(path_, begin);
    for (std::int64_t step = begin; step < end; ++step) {
      StepRecord record;
      record.step = step;
      record.loss = 1.0 / static_cast<double>(step + 3);
      file.write(record);
    }
  }

  void append(const std::string& bytes) {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }

  std::vector<std::int64_t> steps() const {
    auto lines = split(read_file(path_), '\n');
    EXPECT_EQ(lines.back(), "");  // whole lines only
    lines.pop_back();
    std::vector<std::int64_t> result;
    for (const std::string& line : lines) {
      result.push_back(nlohmann::json::parse(line).at("step"));
    }
    return result;
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(MetricsFileTest, ValuesComeBackToTheBit) {
  StepRecord record;
  record.step = 7;
  record.loss = 0.1 + 0.2;
  record.grad_norm = 5e-324;
  record.lr = 1.0 / 3;
  record.tokens = std::numeric_limits<std::int64_t>::max();
  record.tokens_per_s = 1.7976931348623157e308;
  record.step_ms = 12;
  record.bubble = 0.25;
  record.peak_bytes = {123456789012345, 0};
  record.loss_scale = 65536;
  const auto json = nlohmann::json::parse(to_json_line(record));
  EXPECT_EQ(json.at("step"), 7);
  EXPECT_EQ(json.at("loss").get<double>(), record.loss);
  EXPECT_EQ(json.at("grad_norm").get<double>(), record.grad_norm);
  EXPECT_EQ(json.at("lr").get<double>(), record.lr);
  EXPECT_EQ(json.at("tokens").get<std::int64_t>(), record.tokens);
  EXPECT_EQ(json.at("tokens_per_s").get<double>(), record.tokens_per_s);
  EXPECT_EQ(json.at("step_ms").get<double>(), 12);
  EXPECT_EQ(json.at("bubble").get<double>(), 0.25);
  EXPECT_EQ(json.at("peak_bytes"), nlohmann::json({123456789012345, 0}));
  EXPECT_EQ(json.at("loss_scale").get<double>(), 65536);
  EXPECT_EQ(json.size(), 10u);
}

TEST_F(MetricsFileTest, NumbersThatJsonLacksAreStrings) {
  StepRecord record;
  record.loss = std::nan("");
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.lr = -std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(to_json_line(record));
  EXPECT_EQ(json.at("loss"), "nan");
  EXPECT_EQ(json.at("grad_norm"), "inf");
  EXPECT_EQ(json.at("lr"), "-inf");
}

TEST_F(MetricsFileTest, EvaluationsHaveTheirOwnKeys) {
  const auto json = nlohmann::json::parse(to_json_line(EvalRecord{9, 2.5, 64}));
  EXPECT_EQ(json, (nlohmann::json{{"step", 9},
                                  {"validation_loss", 2.5},
                                  {"validation_tokens", 64}}));
}

TEST_F(MetricsFileTest, ResumingCutsTheStepsThatAreMadeAgain) {
  write_steps(0, 6);
  const std::string before = read_file(path_);
  write_steps(4, 7);
  EXPECT_THAT(steps(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(read_file(path_).starts_with(before));
  write_steps(2, 3);
  EXPECT_THAT(steps(), ElementsAre(0, 1, 2));
  write_steps(0, 1);
  EXPECT_THAT(steps(), ElementsAre(0));
}

TEST_F(MetricsFileTest, AnEvaluationGoesWithItsStep) {
  {
    MetricsFile file(path_, 0);
    for (std::int64_t step : {0, 1}) {
      StepRecord record;
      record.step = step;
      file.write(record);
      file.write(EvalRecord{step, 1.0, 1});
    }
    file.sync();
  }
  { MetricsFile file(path_, 1); }
  EXPECT_THAT(steps(), ElementsAre(0, 0));
}

TEST_F(MetricsFileTest, ATornLastLineIsCutAtAnyByte) {
  write_steps(0, 3);
  const std::string whole = read_file(path_);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = last; size < whole.size(); ++size) {
    fs::resize_file(path_, size);
    write_steps(2, 3);
    ASSERT_EQ(read_file(path_), whole) << size;
  }
}

TEST_F(MetricsFileTest, ALastLineOfZerosIsCut) {
  write_steps(0, 2);
  append(std::string(100, '\0') + "\n");
  { MetricsFile file(path_, 5); }
  EXPECT_THAT(steps(), ElementsAre(0, 1));
}

TEST_F(MetricsFileTest, AStrangeLineInTheMiddleIsAnErrorAndStays) {
  write_steps(0, 1);
  append("my notes\n");
  append(to_json_line(StepRecord{.step = 1, .peak_bytes = {}}) + "\n");
  const std::string before = read_file(path_);
  try {
    MetricsFile file(path_, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_THAT(error.what(), HasSubstr("metrics.jsonl:2 is not"));
  }
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(MetricsFileTest, AFullDiskIsReportedAndLeavesWholeLines) {
  write_steps(0, 2);
  const auto size = fs::file_size(path_);
  // A file-size limit inside the next line stands for a full disk.
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = old;
  limit.rlim_cur = size + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  MetricsFile file(path_, 2);
  StepRecord record;
  record.step = 2;
  EXPECT_THROW(file.write(record), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(steps(), ElementsAre(0, 1));
  file.write(record);
  EXPECT_THAT(steps(), ElementsAre(0, 1, 2));
}

TEST_F(MetricsFileTest, AMissingFolderIsARuntimeError) {
  try {
    MetricsFile file(folder_ / "none" / "metrics.jsonl", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
}

}  // namespace
}  // namespace merak::metrics
