#include "merak/checkpoint/inspect.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/checkpoint/checkpoint.h"
#include "merak/checkpoint/step_folder.h"
#include "merak/cli/arguments.h"
#include "merak/cli/command_table.h"
#include "merak/cli/output.h"
#include "merak/data/tokens/megatron_reader.h"

namespace merak::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::Inspection;
using nlohmann::json;

// Tensors shown as text; --json has all.
constexpr std::size_t kShown = 12;

// What a format's reader found, in the two forms of output.
struct Description {
  json fields;
  std::string text;
  bool sound = true;
};

json parsed(const std::string& text) {
  return text.empty() ? json::object() : json::parse(text);
}

json tensors_json(const Inspection& found) {
  json list = json::array();
  for (const checkpoint::TensorInfo& tensor : found.tensors) {
    list.push_back({{"kind", tensor.kind},
                    {"name", tensor.name},
                    {"dtype", name_of(tensor.dtype)},
                    {"shape", tensor.shape}});
  }
  return list;
}

std::string tensors_text(const Inspection& found) {
  std::string text;
  for (std::size_t i = 0; i < found.tensors.size() && i < kShown; ++i) {
    const checkpoint::TensorInfo& tensor = found.tensors[i];
    text += fmt::format("  {:<12} {} {}[{}]\n", tensor.kind, tensor.name,
                        name_of(tensor.dtype), fmt::join(tensor.shape, ","));
  }
  if (found.tensors.size() > kShown) {
    text += fmt::format("  and {} more (--json shows all)\n",
                        found.tensors.size() - kShown);
  }
  return text;
}

Description describe(const Inspection& found) {
  Description result;
  result.sound = found.problems.empty();
  result.fields = {
      {"format", found.format},        {"sound", result.sound},
      {"problems", found.problems},    {"parameters", found.parameters},
      {"bytes", found.bytes},          {"files", found.files},
      {"tensors", tensors_json(found)}};
  // Nothing is known of what could not be opened.
  const bool opened = result.sound || found.files > 0;
  if (opened)
    result.text = fmt::format(
        "{}: {} parameters in {} tensors, {} bytes in {} "
        "file{}\n",
        found.format, found.parameters, found.tensors.size(), found.bytes,
        found.files, found.files == 1 ? "" : "s");
  if (found.format == "checkpoint" && result.sound) {
    result.fields["step"] = found.step;
    result.fields["layout"] = parsed(found.layout);
    result.fields["model"] = parsed(found.model);
    result.fields["trainer"] = parsed(found.trainer);
    result.text += fmt::format("after {} steps, written by {}\n", found.step,
                               found.layout);
  }
  result.text += tensors_text(found);
  for (const std::string& problem : found.problems) {
    result.text += fmt::format("not sound: {}\n", problem);
  }
  if (result.sound) result.text += "sound\n";
  return result;
}

Description describe_megatron(const fs::path& index) {
  const data::MegatronDataset found = data::open_megatron(index);
  return {{{"format", "megatron dataset"},
           {"sound", true},
           {"token_type", data::name_of(found.type)},
           {"sequences", found.sequences},
           {"documents", found.documents},
           {"tokens", found.tokens}},
          fmt::format("megatron dataset: {} tokens ({}) in {} sequences, {} "
                      "documents\nsound\n",
                      found.tokens, data::name_of(found.type), found.sequences,
                      found.documents)};
}

Description describe_plan(const fs::path& file) {
  const json plan = json::parse(read_file(file), nullptr, false);
  if (!plan.is_object() || !plan.contains("layout") ||
      !plan.contains("schedule") || !plan.contains("stages")) {
    fail_usage(
        "{} is JSON, but no plan: layout, schedule and stages are not "
        "all there",
        file.string());
  }
  const std::string text = fmt::format(
      "plan: {} stages, {}, layout {}\nsound\n", plan.at("stages").size(),
      plan.at("schedule").dump(), plan.at("layout").dump());
  return {{{"format", "plan"}, {"sound", true}, {"plan", plan}}, text};
}

// The checkpoint of a run folder that a run would go on from, were its data
// sound; whether it is, the inspection says.
Description describe_run(const fs::path& run) {
  const auto newest = checkpoint::find_newest_complete(
      run, [](const std::string& line) { spdlog::warn("{}", line); },
      checkpoint::Depth::kStructure);
  if (!newest) {
    fail_usage("the run folder {} has no complete checkpoint", run.string());
  }
  Description found = describe(checkpoint::verify(*newest));
  found.fields["path"] = newest->string();
  found.text = newest->string() + "\n" + found.text;
  return found;
}

Description describe_directory(const fs::path& path) {
  if (path_is_folder(path / checkpoint::kCheckpointsFolder)) {
    return describe_run(path);
  }
  if (checkpoint::parse_step_folder(path.filename().string()) ||
      path_exists(path / "checkpoint.json")) {
    return describe(checkpoint::verify(path));
  }
  return describe(checkpoint::describe_folder(path));
}

Description inspect_path(const fs::path& path) {
  if (!path_exists(path)) fail_usage("{} does not exist", path.string());
  if (path_is_folder(path)) return describe_directory(path);
  const std::string extension = path.extension().string();
  if (extension == ".safetensors") return describe(checkpoint::describe(path));
  if (extension == ".idx") return describe_megatron(path);
  if (extension == ".json") return describe_plan(path);
  if (extension == ".pt2") {
    fail_usage("{}: .pt2 files are not supported yet", path.string());
  }
  fail_usage(
      "{}: what it is cannot be told from its name; a run's, a checkpoint's or "
      "a weights' folder, .safetensors, .idx or a plan's .json would work",
      path.string());
}

}  // namespace

Action add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  app.add_option("PATH", options->path,
                 "run folder, checkpoint, weights' folder, plan, "
                 ".safetensors or .idx")
      ->required();
  add_json(app, options->json);
  return [options] { return inspect(*options); };
}

int inspect(const InspectOptions& options) {
  fs::path path(options.path);
  if (!path.has_filename()) path = path.parent_path();  // "step-1/"
  const Description found = inspect_path(path);
  if (options.json) {
    print_json(found.fields);
  } else {
    print(found.text);
  }
  // Unsound input is wrong input.
  return found.sound ? 0 : 2;
}

}  // namespace merak::cli
