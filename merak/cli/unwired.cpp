// Commands whose folders are not joined to the program yet.
#include "merak/base/error.h"
#include "merak/cli/commands.h"

namespace merak::cli {

int train(const TrainOptions& options) {
  fail_usage("merak train is not supported yet (for {})", options.config.file);
}

int verify(const VerifyOptions& options) {
  fail_usage("merak verify is not supported yet (for {})", options.config.file);
}

int trace(const TraceOptions& options) {
  fail_usage("merak trace is not supported yet (for {})", options.config.file);
}

int generate(const GenerateOptions& options) {
  fail_usage("merak generate is not supported yet (for {})", options.path);
}

int export_folder(const ExportOptions& options) {
  fail_usage("merak export is not supported yet (for {})", options.checkpoint);
}

int inspect(const InspectOptions& options) {
  fail_usage("merak inspect is not supported yet (for {})", options.path);
}

}  // namespace merak::cli
