#include "merak/checkpoint/safetensors/safetensors_writer.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/xxh64.h"

namespace merak::checkpoint {
namespace {

std::uint64_t bytes_of(const TensorSpec& tensor) {
  const auto bytes = checked_bytes(tensor.shape, tensor.dtype);
  MERAK_CHECK(bytes.has_value(), "tensor '{}', shape {}", tensor.name,
              text(tensor.shape));
  return static_cast<std::uint64_t>(*bytes);
}

std::vector<std::size_t> file_order(std::span<const TensorSpec> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const TensorSpec& a = tensors[i];
    const TensorSpec& b = tensors[j];
    return std::make_tuple(size_of(b.dtype), std::string_view(a.name)) <
           std::make_tuple(size_of(a.dtype), std::string_view(b.name));
  });
  return order;
}

}  // namespace

WrittenFile write_safetensors(FileSystem& files,
                              const std::filesystem::path& path,
                              std::span<const TensorSpec> tensors,
                              const Metadata& metadata, const Source& source) {
  const std::vector<std::size_t> order = file_order(tensors);
  std::vector<TensorSpec> sorted;
  for (const std::size_t index : order) sorted.push_back(tensors[index]);
  const std::string header = format_header(sorted, metadata);
  std::uint64_t total = header.size();
  for (const TensorSpec& tensor : sorted) total += bytes_of(tensor);

  AtomicFile file(files, path, total);
  file.append(header);
  for (const std::size_t index : order) {
    std::uint64_t sent = 0;
    source(index, [&](std::span<const std::byte> bytes) {
      sent += bytes.size();
      MERAK_CHECK(sent <= bytes_of(tensors[index]), "{} bytes for '{}'", sent,
                  tensors[index].name);
      if (bytes.empty()) return;
      file.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
    MERAK_CHECK(sent == bytes_of(tensors[index]), "{} bytes for '{}'", sent,
                tensors[index].name);
  }
  file.commit();
  return {total, xxh64(header)};
}

}  // namespace merak::checkpoint
