#include "merak/checkpoint/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "merak/base/error.h"
#include "merak/checkpoint/safetensors/dtype_name.h"
#include "merak/checkpoint/safetensors/strict_json.h"

namespace merak::checkpoint {
namespace {

using nlohmann::json;

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

json part_to_json(const Part& part) {
  return {{"file", part.file},
          {"key", part.key},
          {"offset", part.slice.offset},
          {"extent", part.slice.extent},
          {"xxh64", hex(part.xxh64)}};
}

FileEntry parse_file(const json& value, const std::string& where) {
  const Fields fields(value, where + ": a file",
                      {"name", "bytes", "header_xxh64"});
  const std::string& name = fields.string("name");
  if (name.empty() || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos || name.starts_with('.')) {
    fail_usage("{}: {} is no name of a file in the checkpoint's folder", where,
               quote_name(name));
  }
  return {name, static_cast<std::uint64_t>(fields.natural("bytes")),
          fields.hash("header_xxh64")};
}

Part parse_part(const json& value, const TensorInfo& tensor,
                std::size_t num_files, const std::string& where) {
  const Fields fields(value, where + ": a part",
                      {"file", "key", "offset", "extent", "xxh64"});
  Part part{.file = static_cast<std::size_t>(fields.natural("file")),
            .key = fields.string("key"),
            .slice = {fields.naturals("offset"), fields.naturals("extent")},
            .xxh64 = fields.hash("xxh64")};
  if (part.file >= num_files) {
    fail_usage("{}: a part is in file {} of {}", where, part.file, num_files);
  }
  if (!is_inside(part.slice, tensor.shape)) {
    fail_usage("{}: a part has offset {} and extent {}, outside of shape {}",
               where, text(part.slice.offset), text(part.slice.extent),
               text(tensor.shape));
  }
  if (numel(part.slice.extent) == 0) {
    fail_usage("{}: the part {} is empty", where, text(part.slice));
  }
  return part;
}

TensorEntry parse_tensor(const json& value, std::size_t num_files,
                         const std::string& where) {
  const Fields fields(value, where + ": a tensor",
                      {"kind", "name", "dtype", "shape", "parts"});
  TensorEntry entry{.info = {fields.string("kind"), fields.string("name"),
                             fields.dtype("dtype"), fields.naturals("shape")}};
  const std::string here = fmt::format("{}: {}", where, text(entry.info));
  if (entry.info.kind.empty() ||
      entry.info.kind.find('/') != std::string::npos) {
    fail_usage("{}: a kind is not empty and has no '/'", here);
  }
  if (!checked_bytes(entry.info.shape, entry.info.dtype)) {
    fail_usage("{}: shape {} has more bytes than 2^63 - 1", here,
               text(entry.info.shape));
  }
  for (const json& part : fields.list("parts")) {
    entry.parts.push_back(parse_part(part, entry.info, num_files, here));
  }
  return entry;
}

}  // namespace

std::string text(const TensorInfo& tensor) {
  return tensor.kind == kWeight
             ? fmt::format("tensor {}", quote_name(tensor.name))
             : fmt::format("{} of {}", tensor.kind, quote_name(tensor.name));
}

void sort_tensors(std::vector<TensorEntry>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::tie(a.info.kind, a.info.name) <
                     std::tie(b.info.kind, b.info.name);
            });
}

json files_to_json(const std::vector<FileEntry>& files) {
  json list = json::array();
  for (const FileEntry& file : files) {
    list.push_back({{"name", file.name},
                    {"bytes", file.bytes},
                    {"header_xxh64", hex(file.header_xxh64)}});
  }
  return list;
}

json tensors_to_json(const std::vector<TensorEntry>& tensors) {
  json list = json::array();
  for (const TensorEntry& tensor : tensors) {
    json parts = json::array();
    for (const Part& part : tensor.parts) parts.push_back(part_to_json(part));
    list.push_back({{"kind", tensor.info.kind},
                    {"name", tensor.info.name},
                    {"dtype", stored_name_of(tensor.info.dtype)},
                    {"shape", tensor.info.shape},
                    {"parts", std::move(parts)}});
  }
  return list;
}

Contents parse_contents(const json& files, const json& tensors,
                        const std::string& where) {
  Contents contents;
  std::unordered_set<std::string> names;
  for (const json& file : files) {
    contents.files.push_back(parse_file(file, where));
    if (!names.insert(contents.files.back().name).second) {
      fail_usage("{}: the file {} is named twice", where,
                 quote_name(contents.files.back().name));
    }
  }
  for (const json& tensor : tensors) {
    contents.tensors.push_back(
        parse_tensor(tensor, contents.files.size(), where));
  }
  return contents;
}

}  // namespace merak::checkpoint
