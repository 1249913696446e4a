#include "merak/checkpoint/safetensors/weight_folder.h"

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/str.h"
#include "merak/checkpoint/safetensors/convert.h"
#include "merak/checkpoint/safetensors/dtype_name.h"
#include "merak/checkpoint/safetensors/strict_json.h"

namespace merak::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr int kMaxDepth = 8;  // room for other writers' metadata

// The index's file names stay in its folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::map<std::string, std::string> parse_weight_map(const fs::path& index) {
  const std::string where = index.string();
  const nlohmann::json document =
      parse_strict(read_file(index), where, kMaxDepth);
  if (!document.is_object() || !document.contains("weight_map") ||
      !document["weight_map"].is_object()) {
    fail_usage("{} has no object 'weight_map'", where);
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : document["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      fail_usage(
          "{}: tensor {} is in {}; it takes the name of a file in the "
          "same folder",
          where, quote_name(tensor), quote_name(file.dump()));
    }
    files[tensor] = file.get<std::string>();
  }
  return files;
}

}  // namespace

WeightFolder::WeightFolder(const fs::path& folder) : folder_(folder) {
  if (path_exists(folder / kSingle)) {
    files_.emplace_back(folder / kSingle);
    for (const StoredTensor& tensor : files_[0].tensors()) {
      places_.emplace(tensor.spec.name, Place{0, &tensor});
    }
  } else if (path_exists(folder / kIndex)) {
    add_index(folder / kIndex);
  } else {
    fail_usage("{} has neither {} nor {}; other weight files must be converted",
               folder.string(), kSingle, kIndex);
  }
}

void WeightFolder::add_index(const fs::path& index) {
  std::map<std::string, std::size_t> opened;
  for (const auto& [tensor, file] : parse_weight_map(index)) {
    const auto [entry, is_new] = opened.emplace(file, files_.size());
    if (is_new) files_.emplace_back(folder_ / file);
    // Headers live on the heap: growth of files_ does not move them.
    const StoredTensor* stored = files_[entry->second].find(tensor);
    if (stored == nullptr) {
      fail_usage("{} puts tensor {} in {}, which does not have it",
                 index.string(), quote_name(tensor), file);
    }
    places_.emplace(tensor, Place{entry->second, stored});
  }
}

std::vector<std::string> WeightFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const TensorSpec* WeightFolder::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second.tensor->spec;
}

const TensorSpec& WeightFolder::at(std::string_view name) const {
  return place(name).tensor->spec;
}

const WeightFolder::Place& WeightFolder::place(std::string_view name) const {
  const auto found = places_.find(name);
  if (found != places_.end()) return found->second;
  const auto near = nearest(name, names());
  fail_usage("{} has no tensor {}{}", folder_.string(), quote_name(name),
             near ? "; did you mean " + quote_name(*near) : "");
}

void WeightFolder::read(const TensorSpec& wanted, const Slice& slice,
                        std::span<std::byte> target) const {
  const Place& found = place(wanted.name);
  const TensorSpec& stored = found.tensor->spec;
  if (stored.shape != wanted.shape) {
    fail_usage("{}: tensor {} has shape {}, but the model's has {}",
               folder_.string(), quote_name(wanted.name), text(stored.shape),
               text(wanted.shape));
  }
  const SafetensorsFile& file = files_[found.file];
  if (stored.dtype == wanted.dtype) {
    file.read(*found.tensor, slice, target);
    return;
  }
  if (!is_floating(stored.dtype) || !is_floating(wanted.dtype)) {
    fail_usage("{}: tensor {} is {}, but the model's is {}", folder_.string(),
               quote_name(wanted.name), stored_name_of(stored.dtype),
               stored_name_of(wanted.dtype));
  }
  const std::optional<std::int64_t> bytes =
      checked_bytes(slice.extent, stored.dtype);
  MERAK_CHECK(bytes.has_value(), "box {}", text(slice));
  std::vector<std::byte> box(static_cast<std::size_t>(*bytes));
  file.read(*found.tensor, slice, box);
  convert_elements(box, stored.dtype, target, wanted.dtype);
}

}  // namespace merak::checkpoint
