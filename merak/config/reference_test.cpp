#include "merak/config/reference.h"

#include <gtest/gtest.h>

#include <set>

#include "merak/base/file.h"
#include "merak/config/keys.h"

namespace merak::config {
namespace {

TEST(Reference, ThePageIsUpToDate) {
  EXPECT_EQ(read_file("docs/configuration.md"), reference_page())
      << "run: build/release/config_reference > docs/configuration.md";
}

TEST(Reference, KeysAreUniqueAndDocumented) {
  std::set<std::string> seen;
  for (const Key& key : keys()) {
    EXPECT_TRUE(seen.insert(key.path()).second) << key.path();
    EXPECT_FALSE(key.doc.empty()) << key.path();
    EXPECT_EQ(find_key(key.path()), &key);
  }
  EXPECT_EQ(find_key("train.step"), nullptr);
}

}  // namespace
}  // namespace merak::config
