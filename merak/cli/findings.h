// What `merak doctor` looks at: each a name, what was found, and, where
// something is missing or odd, how to mend it. Nothing is changed, no other
// host is asked but the name service.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace merak::cli {

enum class Status {
  kOk,
  kNote,     // works, but the user may want to know
  kMissing,  // training will fail until it is mended
};
std::string name_of(Status status);  // "ok", "note", "missing"

struct Finding {
  std::string name;
  Status status = Status::kOk;
  std::string value;
  std::string remedy;  // empty if ok
};

// The environment; replaced in tests.
using Variables =
    std::function<std::optional<std::string>(const std::string& name)>;
Variables process_variables();

Finding find_build_tools(const Variables& variables);
Finding find_cores();
Finding find_threads(const Variables& variables, int cores);
Finding find_memory();
Finding find_disk(const std::filesystem::path& dir);
Finding find_open_files();
Finding find_network(const Variables& variables);
Finding find_launcher(const Variables& variables);

// All of them, and the versions this program was built with, in order.
std::vector<Finding> find_all(const Variables& variables,
                              const std::filesystem::path& dir);

}  // namespace merak::cli
