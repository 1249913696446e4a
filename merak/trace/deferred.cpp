#include "merak/trace/deferred.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "merak/base/error.h"
#include "merak/trace/operator_call.h"
#include "merak/trace/shapes.h"
#include "merak/trace/tensors.h"

namespace merak::trace {
namespace {

using Impl = const c10::TensorImpl*;

// Address space that becomes memory where it is written: `torch::tensor` in a
// constructor writes into what `empty` gave it. The size is kept in front.
struct Mapping {
  void* data;
  std::size_t size;
};

void unmap(void* context) {
  auto* mapping = static_cast<Mapping*>(context);
  munmap(mapping->data, mapping->size);
  delete mapping;
}

at::Tensor empty_mapping(const at::Tensor& model) {
  const std::size_t size = std::max<std::size_t>(model.nbytes(), 1);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return model;
  at::Tensor tensor = make_proxy(model.sizes(), model.strides(),
                                 model.scalar_type(), model.device());
  tensor.storage().set_data_ptr(
      {data, new Mapping{data, size}, &unmap, model.device()});
  return tensor;
}

bool was_written(const at::Tensor& tensor) {
  const c10::DataPtr& pointer = tensor.storage().data_ptr();
  if (pointer.get_deleter() != &unmap) return false;
  const auto* mapping = static_cast<const Mapping*>(pointer.get_context());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((mapping->size + page - 1) / page);
  if (mincore(mapping->data, mapping->size, resident.data()) != 0) return true;
  return std::any_of(resident.begin(), resident.end(),
                     [](unsigned char flags) { return (flags & 1) != 0; });
}

template <typename F>
void for_each_tensor(std::span<const c10::IValue> values, F&& f) {
  for (const c10::IValue& value : values) {
    if (value.isTensor() && value.toTensor().defined()) {
      f(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& item : value.toTensorVector()) f(item);
    } else if (value.isOptionalTensorList()) {
      for (const auto& item : value.toOptionalTensorVector()) {
        if (item && item->defined()) f(*item);
      }
    }
  }
}

// FNV-1a: a fixed function, so that initial values stay the same for ever.
std::uint64_t hash(std::uint64_t seed, const std::string& name,
                   std::uint64_t ordinal) {
  std::uint64_t state = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t byte) {
    state = (state ^ byte) * 1099511628211ULL;
  };
  for (int i = 0; i < 64; i += 8) mix((seed >> i) & 0xff);
  for (char c : name) mix(static_cast<unsigned char>(c));
  for (int i = 0; i < 64; i += 8) mix((ordinal >> i) & 0xff);
  return state;
}

}  // namespace

class InitTape final : public CallSink {
 public:
  void call(const c10::OperatorHandle& op,
            std::vector<c10::IValue>& stack) override;
  at::Tensor materialize(const at::Tensor& deferred, const std::string& name,
                         std::uint64_t seed) const;
  bool made(const at::Tensor& tensor) const;

 private:
  void read_values(const c10::OperatorHandle& op,
                   std::vector<c10::IValue>& stack, std::size_t first) const;
  const at::Tensor& find_known(const at::Tensor& deferred,
                               const std::string& name) const;

  struct Entry {
    c10::OperatorHandle op;
    std::vector<c10::IValue> arguments;
    std::vector<c10::IValue> results;
  };
  class Replay;

  std::vector<std::size_t> entries_for(const at::Tensor& deferred) const;

  std::vector<Entry> entries_;
  std::unordered_set<Impl> known_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> first_of_storage_;
};

void InitTape::call(const c10::OperatorHandle& op,
                    std::vector<c10::IValue>& stack) {
  const std::size_t first = stack.size() - op.schema().arguments().size();
  Entry entry{op,
              {stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end()},
              {}};
  const PassThrough pass;
  if (reads_values(op)) return read_values(op, stack, first);
  {
    const at::NoGradGuard no_grad;
    const InterceptKernels shapes(nullptr, /*functional=*/false);
    op.callBoxed(&stack);
  }
  if (op.operator_name().name == "aten::empty") {
    stack[first] = empty_mapping(stack[first].toTensor());
  }
  entry.results.assign(stack.begin() + static_cast<std::ptrdiff_t>(first),
                       stack.end());
  for_each_tensor(entry.results, [&](const at::Tensor& tensor) {
    known_.insert(tensor.unsafeGetTensorImpl());
    first_of_storage_.emplace(tensor.storage().unsafeGetStorageImpl(), tensor);
  });
  entries_.push_back(std::move(entry));
}

// Computed for real, from what the tape says of the arguments.
void InitTape::read_values(const c10::OperatorHandle& op,
                           std::vector<c10::IValue>& stack,
                           std::size_t first) const {
  for (std::size_t i = first; i < stack.size(); ++i) {
    if (!stack[i].isTensor()) continue;
    const at::Tensor tensor = stack[i].toTensor();
    if (known_.count(tensor.unsafeGetTensorImpl()) == 0) continue;
    stack[i] = materialize(tensor, "", 0);
  }
  const PlainKernels plain;
  op.callBoxed(&stack);
}

// What must run for one tensor: walking back, every operator that returns a
// needed tensor, and with it all that it reads. In-place operators return the
// tensor they wrote to; a write through a view counts for the viewed tensor.
std::vector<std::size_t> InitTape::entries_for(
    const at::Tensor& deferred) const {
  std::unordered_map<Impl, Impl> base;  // of views
  const auto root = [&](Impl impl) {
    while (base.count(impl) > 0) impl = base.at(impl);
    return impl;
  };
  for (const Entry& entry : entries_) {
    const auto& returns = entry.op.schema().returns();
    if (returns.empty() || !returns[0].alias_info() ||
        returns[0].alias_info()->isWrite() || entry.arguments.empty() ||
        !entry.arguments[0].isTensor()) {
      continue;
    }
    const Impl viewed = entry.arguments[0].toTensor().unsafeGetTensorImpl();
    for_each_tensor(entry.results, [&](const at::Tensor& view) {
      if (view.unsafeGetTensorImpl() != viewed) {
        base.emplace(view.unsafeGetTensorImpl(), viewed);
      }
    });
  }
  std::unordered_set<Impl> needed = {root(deferred.unsafeGetTensorImpl())};
  std::vector<std::size_t> chosen;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    bool wanted = false;
    for_each_tensor(entries_[i].results, [&](const at::Tensor& tensor) {
      wanted = wanted || needed.count(root(tensor.unsafeGetTensorImpl())) > 0;
    });
    if (!wanted) continue;
    chosen.push_back(i);
    for_each_tensor(entries_[i].arguments, [&](const at::Tensor& tensor) {
      needed.insert(root(tensor.unsafeGetTensorImpl()));
    });
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

// Runs entries on real tensors.
class InitTape::Replay {
 public:
  Replay(const std::string& name, std::uint64_t seed)
      : name_(name), seed_(seed) {}

  void run(const Entry& entry) {
    std::vector<c10::IValue> stack;
    for (const c10::IValue& value : entry.arguments) {
      stack.push_back(real(value));
    }
    seed_generator(entry.op.schema(), stack);
    entry.op.callBoxed(&stack);
    for (std::size_t i = 0; i < stack.size(); ++i) {
      bind(entry.results[i], stack[i]);
    }
  }

  const at::Tensor& result(const at::Tensor& deferred) const {
    return real_.at(deferred.unsafeGetTensorImpl());
  }

 private:
  // Operators with a generator draw from one that only (seed, name, order)
  // determine.
  void seed_generator(const c10::FunctionSchema& schema,
                      std::vector<c10::IValue>& stack) {
    for (std::size_t i = 0; i < stack.size(); ++i) {
      if (schema.arguments()[i].name() != "generator") continue;
      stack[i] = at::make_generator<at::CPUGeneratorImpl>(
          hash(seed_, name_, draws_++));
    }
  }

  at::Tensor real(const at::Tensor& tensor) const {
    const auto found = real_.find(tensor.unsafeGetTensorImpl());
    return found == real_.end() ? tensor : found->second;
  }

  c10::IValue real(const c10::IValue& value) const {
    if (value.isTensor()) return real(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const at::Tensor& item : value.toTensorVector()) {
      list.push_back(real(item));
    }
    return list;
  }

  void bind(const c10::IValue& recorded, const c10::IValue& value) {
    if (recorded.isTensor()) {
      const at::Tensor& tensor = recorded.toTensor();
      if (was_written(tensor)) value.toTensor().copy_(tensor);
      real_[tensor.unsafeGetTensorImpl()] = value.toTensor();
    } else if (recorded.isTensorList()) {
      const auto from = recorded.toTensorVector(), to = value.toTensorVector();
      for (std::size_t i = 0; i < from.size(); ++i) {
        real_[from[i].unsafeGetTensorImpl()] = to[i];
      }
    }
  }

  std::string name_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  std::unordered_map<Impl, at::Tensor> real_;
};

bool InitTape::made(const at::Tensor& tensor) const {
  return known_.contains(tensor.unsafeGetTensorImpl()) ||
         first_of_storage_.contains(tensor.storage().unsafeGetStorageImpl());
}

// The tensor itself, or the first one of the same memory: `torch::tensor` and
// others make a second tensor of what a factory returned, unseen.
const at::Tensor& InitTape::find_known(const at::Tensor& deferred,
                                       const std::string& name) const {
  if (known_.count(deferred.unsafeGetTensorImpl()) > 0) return deferred;
  const auto found =
      first_of_storage_.find(deferred.storage().unsafeGetStorageImpl());
  MERAK_CHECK(found != first_of_storage_.end(),
              "'{}' was not made inside this Deferred", name);
  return found->second;
}

at::Tensor InitTape::materialize(const at::Tensor& deferred,
                                 const std::string& name,
                                 std::uint64_t seed) const {
  const PlainKernels plain;
  Replay replay(name, seed);
  const at::Tensor& known = find_known(deferred, name);
  for (std::size_t i : entries_for(known)) replay.run(entries_[i]);
  const at::Tensor result = replay.result(known);
  if (known.is_same(deferred)) return result;
  return result.as_strided(deferred.sizes(), deferred.strides(),
                           deferred.storage_offset());
}

Deferred::Deferred() : tape_(std::make_unique<InitTape>()) {}
Deferred::~Deferred() = default;

CallSink& Deferred::sink() { return *tape_; }

bool Deferred::made(const at::Tensor& tensor) const {
  return tape_->made(tensor);
}

at::Tensor Deferred::materialize(const at::Tensor& deferred,
                                 const std::string& name,
                                 std::uint64_t seed) const {
  return tape_->materialize(deferred, name, seed);
}

}  // namespace merak::trace
