#include "merak/trace/dispatch.h"

#include <torch/library.h>

#include <mutex>

#include "merak/kernels/operators.h"
#include "merak/trace/shapes.h"

namespace merak::trace {
namespace {

using c10::DispatchKey;

thread_local CallSink* whole_sink = nullptr;
thread_local CallSink* kernel_sink = nullptr;

void whole_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (whole_sink == nullptr) {
    const PassThrough pass;
    op.callBoxed(stack);
    return;
  }
  whole_sink->call(op, *stack);
}

void kernel_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (kernel_sink == nullptr) {
    infer_results(op, *stack);
    return;
  }
  kernel_sink->call(op, *stack);
}

using BoxedFunction = void (*)(const c10::OperatorHandle&, torch::jit::Stack*);

template <BoxedFunction kFunction>
void take_key(std::vector<torch::Library>& libraries, DispatchKey key) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!dispatcher.hasBackendFallbackForDispatchKey(key)) {
    libraries.emplace_back(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
    libraries.back().fallback(
        torch::CppFunction::makeFromBoxedFunction<kFunction>());
    return;
  }
  libraries.emplace_back(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != std::optional<std::string_view>("aten")) {
      continue;
    }
    std::string full = name.name;
    if (!name.overload_name.empty()) full += "." + name.overload_name;
    libraries.back().impl(
        full.c_str(), torch::CppFunction::makeFromBoxedFunction<kFunction>());
  }
}

}  // namespace

void register_dispatch() {
  static std::once_flag once;
  std::call_once(once, [] {
    kernels::register_operators();
    // Kept for as long as the process: LibTorch unregisters with the library.
    static auto* libraries = new std::vector<torch::Library>();
    take_key<whole_fallback>(*libraries, DispatchKey::DeferredInit);
    take_key<kernel_fallback>(*libraries, DispatchKey::Fake);
  });
}

InterceptWhole::InterceptWhole(CallSink& sink)
    : outer_(whole_sink),
      include_((register_dispatch(), DispatchKey::DeferredInit)) {
  whole_sink = &sink;
}

InterceptWhole::~InterceptWhole() { whole_sink = outer_; }

PassThrough::PassThrough() : exclude_(DispatchKey::DeferredInit) {}

InterceptKernels::InterceptKernels(CallSink* sink, bool functional)
    : outer_(kernel_sink),
      include_((register_dispatch(),
                functional ? c10::DispatchKeySet({DispatchKey::Fake,
                                                  DispatchKey::Functionalize})
                           : c10::DispatchKeySet(DispatchKey::Fake))) {
  if (functional) reapply_views_.emplace(true);
  kernel_sink = sink;
}

InterceptKernels::~InterceptKernels() { kernel_sink = outer_; }

}  // namespace merak::trace
