// Helpers of this folder's tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "merak/base/error.h"

namespace merak::config {

// The message of the usage error that a call must throw: one line.
inline std::string usage_error(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace merak::config
