// Graphs as text: what passes are tested with and `merak trace` shows.
//
//   graph "model" {
//     %input_ids: i64[2,256] = user "input_ids"
//     %wte.weight: f32[50304,768] = parameter "wte.weight"
//     %2: f32[2,256,768] = aten.embedding(%wte.weight, %input_ids, -1, false,
//                                         false) @"wte"
//     return "hidden": %2
//   }
//
// One statement a line, in the order in which values were made.
//   type       f32[2,3], with strides f32[2,3]{1,2}
//   input      KIND "global name", followed by `frozen` if not trainable
//   node       OP(arguments), then @"module path", then no_grad, where they
//   hold results    `%1: f32[2], _ = ...`: _ is a result that is undefined
//   arguments  %7  [%7, none]  none  true  -3  1.0  inf  "a\n"  f32  [1, 2]
//              [0.5]  [true]; empty lists: [] (integers), tensors[], floats[],
//              bools[]
//   %"..."     a name with other characters than letters, digits and _ . / -
//   #          a comment to the end of the line
//
// parse(print(graph)) has the same ids, names, types and arguments; doubles
// keep every bit but the payload of a NaN. Names that are numbers are ids: the
// parser renumbers them in order of definition, so print(parse(text)) is a
// normal form.
#pragma once

#include <string>
#include <string_view>

#include "merak/graph/graph.h"

namespace merak::graph {

std::string print(const Graph& graph);

// Usage error with line and column if the text is no graph.
Graph parse(std::string_view text);

// The pieces, for messages and keys.
std::string print(const TensorType& type);
std::string print(const Graph& graph, const Argument& argument);
std::string print(const Graph& graph, const Node& node);

}  // namespace merak::graph
