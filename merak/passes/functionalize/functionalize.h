// Makes a captured model functional: no node of the result writes.
//
// An operator in place, or with `out`, becomes the one that returns a new
// value; who reads the tensor, what it is a view of, or another view of the
// same memory afterwards, reads the new value. A write through a view is put
// back into what it is a view of:
//
//   %1: f32[2,3] = aten.mul.Tensor(%x, 2.0)
//   %2: f32[3] = aten.select.int(%1, 0, 1)
//   %3: f32[3] = aten.add_.Tensor(%2, %y, 1)
//   return "out": %1
// becomes
//   %1: f32[2,3] = aten.mul.Tensor(%x, 2.0)
//   %2: f32[3] = aten.select.int(%1, 0, 1)
//   %3: f32[3] = aten.add.Tensor(%2, %y, 1)
//   %4: f32[2,3] = aten.select_scatter(%1, %3, 0, 1)
//   return "out": %4
//
// A view that has missed a write is taken again when it is read. Nodes keep
// module and grad mode; what is put back has those of the write, views those of
// the view. Behind the first write `aten.view` becomes `aten.reshape`: a value
// that replaces another one may lie differently in memory.
//
// What is written to a buffer leaves the graph as output "buffer:<name>",
// without gradient; so do the statistics of batch_norm in training, which
// becomes aten._native_batch_norm_legit_functional. A constant is made anew
// with every forward, so it may be written.
//
// Usage errors, naming operator and module: a write to a parameter, to an
// input of the batch, through an expanded or opaque view (as_strided), under
// no_grad or through detach where gradients flow; an operator that no
// out-of-place form is known of; the result of an opaque view read after a
// write.
//
// Unchanged if nothing writes. Nodes that nobody reads any more are left to
// eliminate_dead_nodes.
#pragma once

#include "merak/passes/pass.h"

namespace merak::passes {

bool functionalize(graph::Graph& graph, const PassOptions& options);

}  // namespace merak::passes
