#include "merak/cli/output.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "merak/base/error.h"

namespace merak::cli {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const nlohmann::json& json) {
  print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
        "\n");
}

void finish_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const int why = errno != 0 ? errno : EIO;
    fail_runtime("cannot write to standard output: {}",
                 std::error_code(why, std::generic_category()).message());
  }
}

}  // namespace merak::cli
