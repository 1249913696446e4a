#include "merak/checkpoint/safetensors/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "merak/base/error.h"
#include "merak/checkpoint/safetensors/dtype_name.h"
#include "merak/checkpoint/safetensors/strict_json.h"

namespace merak::checkpoint {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "files are little-endian, and so is memory");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kAlignment = 64;
constexpr std::string_view kMetadata = "__metadata__";
constexpr int kMaxDepth = 3;  // header, tensor, shape

// The length of the JSON text.
std::uint64_t header_length(std::string_view file, const std::string& path) {
  if (file.size() < kLengthBytes) {
    fail_usage("{} has {} bytes; a safetensors file has at least {}", path,
               file.size(), kLengthBytes);
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const std::uint64_t room = file.size() - kLengthBytes;
  if (length > kMaxHeader || length > room) {
    fail_usage(
        "{}: the header is said to have {} bytes; at most {} are allowed and "
        "{} follow in the file: it is cut short, or no safetensors file",
        path, length, kMaxHeader, room);
  }
  return length;
}

Metadata parse_metadata(const json& value, const std::string& path) {
  if (!value.is_object()) fail_usage("{}: {} is no object", path, kMetadata);
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      fail_usage("{}: {}: the value of {} is no string", path, kMetadata,
                 quote_name(key));
    }
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

StoredTensor parse_tensor(const std::string& name, const json& value,
                          const std::string& path) {
  const std::string where =
      fmt::format("{}: tensor {}", path, quote_name(name));
  const Fields fields(value, where, {"dtype", "shape", "data_offsets"});
  StoredTensor tensor{
      .spec = {name, fields.dtype("dtype"), fields.naturals("shape")}};
  const Shape offsets = fields.naturals("data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail_usage("{}: data_offsets are {}; they take a begin and an end after it",
               where, text(offsets));
  }
  const std::optional<std::int64_t> bytes =
      checked_bytes(tensor.spec.shape, tensor.spec.dtype);
  if (!bytes) {
    fail_usage("{}: shape {} has more bytes than 2^63 - 1", where,
               text(tensor.spec.shape));
  }
  if (*bytes != offsets[1] - offsets[0]) {
    fail_usage("{}: data_offsets {} span {} bytes, but {} of shape {} has {}",
               where, text(offsets), offsets[1] - offsets[0],
               stored_name_of(tensor.spec.dtype), text(tensor.spec.shape),
               *bytes);
  }
  tensor.begin = static_cast<std::uint64_t>(offsets[0]);
  tensor.end = static_cast<std::uint64_t>(offsets[1]);
  return tensor;
}

// Sorts by offset; the tensors must fill [0, data_bytes) without gap or
// overlap.
void check_layout(Header& header, std::uint64_t data_bytes,
                  const std::string& path) {
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  std::uint64_t expected = 0;
  for (const StoredTensor& tensor : header.tensors) {
    if (tensor.end > data_bytes) {
      fail_usage(
          "{}: tensor {} ends at byte {} of the data, of which the file has {}"
          ": it is cut short",
          path, quote_name(tensor.spec.name), tensor.end, data_bytes);
    }
    if (tensor.begin != expected) {
      fail_usage(
          "{}: tensor {} begins at byte {} of the data, where the one before "
          "it ends at {}; there must be no {}",
          path, quote_name(tensor.spec.name), tensor.begin, expected,
          tensor.begin > expected ? "gap" : "overlap");
    }
    expected = tensor.end;
  }
  if (expected != data_bytes) {
    fail_usage(
        "{}: the tensors end at byte {} of the data, but the file has {}", path,
        expected, data_bytes);
  }
}

}  // namespace

Header parse_header(std::string_view file, const std::string& path) {
  const std::uint64_t length = header_length(file, path);
  const std::string_view text = file.substr(kLengthBytes, length);
  if (!text.starts_with('{')) {
    fail_usage("{}: the header does not begin with '{{': no safetensors file",
               path);
  }
  const json document = parse_strict(text, path + ": header", kMaxDepth);
  Header header{.data_begin = kLengthBytes + length};
  for (const auto& [name, value] : document.items()) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(value, path);
    } else {
      header.tensors.push_back(parse_tensor(name, value, path));
    }
  }
  check_layout(header, file.size() - header.data_begin, path);
  return header;
}

std::string format_header(const std::vector<TensorSpec>& tensors,
                          const Metadata& metadata) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  if (!metadata.empty()) document[std::string(kMetadata)] = metadata;
  std::unordered_set<std::string_view> names = {kMetadata};
  std::int64_t at = 0;
  for (const TensorSpec& tensor : tensors) {
    MERAK_CHECK(names.insert(tensor.name).second, "tensor '{}' twice",
                tensor.name);
    const std::optional<std::int64_t> bytes =
        checked_bytes(tensor.shape, tensor.dtype);
    MERAK_CHECK(bytes.has_value(), "tensor '{}', shape {}", tensor.name,
                text(tensor.shape));
    document.push_back({tensor.name,
                        {{"dtype", stored_name_of(tensor.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {at, at + *bytes}}}});
    at += *bytes;
  }
  std::string json_text = document.dump();
  const std::size_t used = kLengthBytes + json_text.size();
  json_text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = json_text.size();
  std::string header(kLengthBytes, '\0');
  std::memcpy(header.data(), &length, sizeof length);
  return header + json_text;
}

}  // namespace merak::checkpoint
