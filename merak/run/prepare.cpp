#include "merak/run/prepare.h"

#include "merak/checkpoint/checkpoint.h"
#include "merak/run/datasets.h"
#include "merak/runtime/layout_plan.h"
#include "merak/runtime/model_source.h"

namespace merak::run {

void prepare(const config::Config& config, const config::Layout& layout) {
  prepare(config, layout, runtime::load_model(config));
}

void prepare(const config::Config& config, const config::Layout& layout,
             const runtime::TrainableModel& model,
             const runtime::Datasets& own_data) {
  const runtime::CompiledModel compiled =
      runtime::compile_for(config, layout, model);
  runtime::actions_for(config, layout, compiled);
  for (const runtime::ParameterInfo& info : compiled.parameters) {
    model.check_initial_value(info);
  }
  if (!own_data.train) {
    open_data(config, model.vocabulary_size, cache_folder_of(config));
  }
  const std::string& resume = config.checkpoint.resume;
  if (resume != "auto" && resume != "never") {
    checkpoint::open_checkpoint(resume, checkpoint::Depth::kStructure);
  }
}

}  // namespace merak::run
