#include "merak/cli/command_table.h"

#include <array>

namespace merak::cli {

// One file each: train.cpp, launch.cpp, ...
Action add_train(CLI::App& app);
Action add_launch(CLI::App& app);
Action add_plan(CLI::App& app);
Action add_simulate(CLI::App& app);
Action add_verify(CLI::App& app);
Action add_trace(CLI::App& app);
Action add_generate(CLI::App& app);
Action add_tokenize(CLI::App& app);
Action add_export(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_report(CLI::App& app);
Action add_doctor(CLI::App& app);

std::span<const Command> commands() {
  static constexpr std::array kCommands = {
      Command{"train", "train a model", add_train},
      Command{"launch", "start the ranks of any program", add_launch},
      Command{"plan", "search for the best layout", add_plan},
      Command{"simulate", "predict a layout's step", add_simulate},
      Command{"verify", "compare a layout with one process", add_verify},
      Command{"trace", "print the graph of a model", add_trace},
      Command{"generate", "sample text from a model", add_generate},
      Command{"tokenize", "turn text into token files", add_tokenize},
      Command{"export", "write a checkpoint as a Hugging Face folder",
              add_export},
      Command{"inspect", "say what a file or checkpoint holds", add_inspect},
      Command{"report", "make one page of a run", add_report},
      Command{"doctor", "check this machine", add_doctor},
  };
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

}  // namespace merak::cli
