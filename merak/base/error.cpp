#include "merak/base/error.h"

namespace merak {

void fail_check(const char* file, int line, const char* condition,
                const std::string& message) {
  throw Error(ErrorKind::kInternal,
              fmt::format("internal error at {}:{}: {} ({})", file, line,
                          message, condition));
}

}  // namespace merak
