// Element types as safetensors files spell them: "F32", "BF16", "BOOL".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "merak/base/dtype.h"

namespace merak::checkpoint {

std::string stored_name_of(DType dtype);
std::optional<DType> dtype_from_stored_name(std::string_view name);
std::string_view stored_dtype_names();  // all of them, for messages

}  // namespace merak::checkpoint
