// Seeing every operator: the one file that owns LibTorch's dispatch keys.
//
// Two keys that LibTorch leaves to others carry a boxed fallback of ours:
// DeferredInit lies above autograd and decomposition and sees operators whole
// (the level of the model graph, and of a module's constructor); Fake lies
// below autograd and functionalization and sees what kernels would be called
// (the level of the stage program). Both act only on a thread that holds one
// of the guards below.
//
// Facts: torchdistx used the same keys for deferred module initialisation.
// Newer cores register a fallback of their own for Fake; where a key is taken,
// boxed kernels are registered operator by operator, which outrank fallbacks.
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <vector>

namespace merak::trace {

// Registers the fallbacks; once, thread-safe. Every guard calls it.
void register_dispatch();

// Whoever wants to see operators.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // Replaces the arguments on `stack` by results.
  virtual void call(const c10::OperatorHandle& op,
                    std::vector<c10::IValue>& stack) = 0;
};

// While alive, this thread's operators go whole to the sink, above autograd.
class InterceptWhole {
 public:
  explicit InterceptWhole(CallSink& sink);
  ~InterceptWhole();
  InterceptWhole(const InterceptWhole&) = delete;
  InterceptWhole& operator=(const InterceptWhole&) = delete;

 private:
  CallSink* outer_;
  c10::impl::IncludeDispatchKeyGuard include_;
};

// Inside a sink of InterceptWhole: calls go on below it, as usual.
class PassThrough {
 public:
  PassThrough();

 private:
  c10::impl::ExcludeDispatchKeyGuard exclude_;
};

// While alive, what autograd and functionalization call on this thread goes to
// the sink; without a sink, operators only infer shapes. Functional: inputs
// are wrapped by at::functionalization, which removes mutation above the sink.
class InterceptKernels {
 public:
  explicit InterceptKernels(CallSink* sink, bool functional);
  ~InterceptKernels();
  InterceptKernels(const InterceptKernels&) = delete;
  InterceptKernels& operator=(const InterceptKernels&) = delete;

 private:
  CallSink* outer_;
  c10::impl::IncludeDispatchKeyGuard include_;
  std::optional<at::functionalization::impl::FunctionalizationReapplyViewsGuard>
      reapply_views_;
};

// While alive, this thread's operators run as plain kernels: below every
// interception and below autograd.
struct PlainKernels {
  c10::impl::ExcludeDispatchKeyGuard capture{c10::DispatchKeySet(
      {c10::DispatchKey::Fake, c10::DispatchKey::Functionalize,
       c10::DispatchKey::DeferredInit})};
  at::AutoDispatchBelowADInplaceOrView autograd;
};

}  // namespace merak::trace
