#include "merak/base/dtype.h"

#include <array>

#include "merak/base/error.h"

namespace merak {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
  bool floating;
};

// In the order of the enumeration.
constexpr std::array<Row, 10> kRows = {{{"bool", 1, false},
                                        {"u8", 1, false},
                                        {"i8", 1, false},
                                        {"i16", 2, false},
                                        {"i32", 4, false},
                                        {"i64", 8, false},
                                        {"f16", 2, true},
                                        {"bf16", 2, true},
                                        {"f32", 4, true},
                                        {"f64", 8, true}}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::size_t size_of(DType dtype) { return row(dtype).size; }
bool is_floating(DType dtype) { return row(dtype).floating; }
std::string_view name_of(DType dtype) { return row(dtype).name; }

DType dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  fail_usage(
      "'{}' is no element type; known are bool, u8, i8, i16, i32, i64, f16, "
      "bf16, f32, f64",
      name);
}

}  // namespace merak
