#include "merak/passes/functionalize/view_step.h"

#include <string_view>
#include <unordered_map>

#include "merak/base/error.h"
#include "merak/passes/functionalize/op_name.h"
#include "merak/passes/functionalize/view_rules.h"

namespace merak::passes {
namespace {

using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using graph::ValueList;

using Index = std::unordered_map<std::string_view, const ViewRule*>;

Index build_index() {
  Index index;
  for (std::span<const ViewRule> family :
       {reshape_rules(), permute_rules(), piece_rules(), conversion_rules()}) {
    for (const ViewRule& rule : family) {
      MERAK_CHECK(index.emplace(rule.base, &rule).second,
                  "two rules for the view aten.{}", rule.base);
    }
  }
  return index;
}

const ViewRule* find_rule(std::string_view op) {
  static const Index kIndex = build_index();
  if (!op.starts_with("aten.")) return nullptr;
  const auto found = kIndex.find(split_name(op).base);
  return found == kIndex.end() ? nullptr : found->second;
}

const ValueList* list_argument(const Node& node, std::size_t position) {
  if (position >= node.arguments.size()) return nullptr;
  return std::get_if<ValueList>(&node.arguments[position]);
}

}  // namespace

ValueId viewed_value(const Node& node, std::size_t result) {
  if (!find_rule(node.op)) return kNoValue;
  if (node.op == "aten.einsum") {  // a view only of a single operand
    const ValueList* operands = list_argument(node, 1);
    return operands && operands->ids.size() == 1 ? operands->ids[0] : kNoValue;
  }
  if (const ValueList* list = list_argument(node, 0)) {
    return result < list->ids.size() ? list->ids[result] : kNoValue;
  }
  return graph::tensor_argument(node, 0);
}

std::optional<ViewStep> view_step(const graph::Graph& graph, const Node& node,
                                  std::size_t result,
                                  const graph::TensorType& viewed) {
  const ViewRule* rule = find_rule(node.op);
  if (!rule) return std::nullopt;
  return rule->step(
      {graph, node, result, viewed, graph.value(node.results[result]).type});
}

}  // namespace merak::passes
