// Shared by the tests of checkpoint/ and safetensors/.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/checkpoint/safetensors/slice.h"

namespace merak::checkpoint::testing {

// A fresh folder under the system's, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "merak-ck-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name,
                              std::string_view bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::filesystem::path path_;
};

// The message of the error of that kind that `action` throws; a failure of the
// test if it throws none or another.
template <typename F>
std::string message_of(ErrorKind kind, F&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline std::vector<std::byte> random_bytes(std::size_t count,
                                           std::mt19937_64& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// The bytes of a box, element by element: slow, plain, and independent of
// copy_overlap.
inline std::vector<std::byte> naive_box(const std::vector<std::byte>& tensor,
                                        const Shape& shape, const Slice& box,
                                        std::size_t element) {
  const auto count = static_cast<std::size_t>(numel(box.extent));
  std::vector<std::byte> bytes(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    std::size_t from = 0;
    std::size_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(box.extent[d]);
      const std::size_t at =
          static_cast<std::size_t>(box.offset[d]) + rest % extent;
      rest /= extent;
      from += at * stride;
      stride *= static_cast<std::size_t>(shape[d]);
    }
    std::memcpy(&bytes[i * element], &tensor[from * element], element);
  }
  return bytes;
}

inline std::int64_t draw(std::int64_t low, std::int64_t high,
                         std::mt19937_64& random) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// A box inside the shape, possibly empty.
inline Slice random_box(const Shape& shape, std::mt19937_64& random) {
  Slice box;
  for (const std::int64_t dim : shape) {
    const std::int64_t a = draw(0, dim, random);
    const std::int64_t b = draw(0, dim, random);
    box.offset.push_back(std::min(a, b));
    box.extent.push_back(std::max(a, b) - std::min(a, b));
  }
  return box;
}

// Cuts a tensor into boxes along a random, uneven grid, one cell each.
inline std::vector<Slice> random_cuts(const Shape& shape,
                                      std::mt19937_64& random) {
  std::vector<Slice> boxes = {whole(shape)};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<Slice> finer;
    for (const Slice& box : boxes) {
      const std::int64_t at = draw(0, box.extent[d], random);
      const std::int64_t again = draw(at, box.extent[d], random);
      std::int64_t begin = 0;
      for (const std::int64_t end : {at, again, box.extent[d]}) {
        Slice part = box;
        part.offset[d] = box.offset[d] + begin;
        part.extent[d] = end - begin;
        finer.push_back(part);
        begin = end;
      }
    }
    boxes = std::move(finer);
  }
  return boxes;
}

}  // namespace merak::checkpoint::testing
