#include <charconv>
#include <unordered_map>
#include <utility>

#include "merak/base/error.h"
#include "merak/graph/lexer.h"
#include "merak/graph/text.h"

namespace merak::graph {
namespace {

struct Result {
  Token name;                      // of a defined result
  std::optional<TensorType> type;  // nothing: undefined
};

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kValue:
      return "'%" + token.text + "'";
    case TokenKind::kString:
      return "\"" + token.text + "\"";
    default:
      return "'" + token.text + "'";
  }
}

template <typename... Args>
[[noreturn]] void fail_at(const Token& token,
                          fmt::format_string<Args...> format, Args&&... args) {
  fail_usage("graph text, line {}, column {}: {}", token.line, token.column,
             fmt::format(format, std::forward<Args>(args)...));
}

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Recursive descent with one word of look-ahead.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Graph parse() {
    expect_word("graph");
    Graph graph(expect(TokenKind::kString, "the graph's name in quotes").text);
    graph_ = &graph;
    expect_mark("{");
    while (!is_mark("}")) statement();
    expect_mark("}");
    if (token_.kind != TokenKind::kEnd) {
      fail_at(token_, "expected the end, found {}", described(token_));
    }
    return graph;
  }

 private:
  // ---- words
  // -----------------------------------------------------------------
  Token advance() { return std::exchange(token_, lexer_.next()); }

  bool is_mark(std::string_view mark) const {
    return token_.kind == TokenKind::kPunctuation && token_.text == mark;
  }
  bool is_word(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }
  bool accept_mark(std::string_view mark) {
    if (!is_mark(mark)) return false;
    advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!is_word(word)) return false;
    advance();
    return true;
  }
  Token expect(TokenKind kind, std::string_view what) {
    if (token_.kind != kind) {
      fail_at(token_, "expected {}, found {}", what, described(token_));
    }
    return advance();
  }
  void expect_mark(std::string_view mark) {
    if (!accept_mark(mark)) {
      fail_at(token_, "expected '{}', found {}", mark, described(token_));
    }
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word)) {
      fail_at(token_, "expected '{}', found {}", word, described(token_));
    }
  }

  // ---- statements
  // ------------------------------------------------------------
  void statement() {
    if (accept_word("return")) return output();
    std::vector<Result> results;
    if (token_.kind == TokenKind::kValue || is_word("_")) {
      do {
        results.push_back(result());
      } while (accept_mark(","));
      expect_mark("=");
    }
    const Token head = token_;
    if (head.kind != TokenKind::kWord && head.kind != TokenKind::kString) {
      fail_at(head, "expected an operator or a kind of input, found {}",
              described(head));
    }
    advance();
    if (token_.kind == TokenKind::kString) {
      input(head, results);
    } else {
      node(head, results);
    }
  }

  void output() {
    const Token name =
        expect(TokenKind::kString, "the output's name in quotes");
    expect_mark(":");
    if (graph_->find_output(name.text)) {
      fail_at(name, "there is an output \"{}\" already", name.text);
    }
    graph_->add_output(use(expect(TokenKind::kValue, "a value")), name.text);
  }

  Result result() {
    if (accept_word("_")) return {};
    Token name = expect(TokenKind::kValue, "a value or '_'");
    expect_mark(":");
    return {std::move(name), type()};
  }

  void input(const Token& kind, const std::vector<Result>& results) {
    if (results.size() != 1 || !results[0].type) {
      fail_at(kind, "an input defines one value");
    }
    const InputKind input_kind = parse_kind(kind);
    const Token name = advance();
    if (graph_->find_input(input_kind, name.text)) {
      fail_at(name, "there is a {} \"{}\" already", kind.text, name.text);
    }
    const bool trainable = !accept_word("frozen");
    define(results[0].name, graph_->add_input(input_kind, name.text,
                                              *results[0].type, trainable));
  }

  static InputKind parse_kind(const Token& token) {
    for (int i = 0; i <= static_cast<int>(InputKind::kRandom); ++i) {
      if (name_of(static_cast<InputKind>(i)) == token.text) {
        return static_cast<InputKind>(i);
      }
    }
    fail_at(token,
            "'{}' is no kind of input; known are user, parameter, buffer, "
            "constant, boundary, gradient, random",
            token.text);
  }

  void node(const Token& op, const std::vector<Result>& results) {
    std::vector<Argument> arguments;
    expect_mark("(");
    if (!accept_mark(")")) {
      do {
        arguments.push_back(argument());
      } while (accept_mark(","));
      expect_mark(")");
    }
    std::string module;
    if (accept_mark("@")) {
      module = expect(TokenKind::kString, "a module path in quotes").text;
    }
    const bool grad_enabled = !accept_word("no_grad");
    std::vector<std::optional<TensorType>> types;
    for (const Result& result : results) types.push_back(result.type);
    const NodeId id =
        graph_->add_node(op.text, std::move(arguments), std::move(types),
                         std::move(module), grad_enabled);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].type) define(results[i].name, graph_->node(id).results[i]);
    }
  }

  // ---- values
  // ----------------------------------------------------------------
  void define(const Token& name, ValueId id) {
    if (!ids_.emplace(name.text, id).second) {
      fail_at(name, "%{} is defined twice", name.text);
    }
    if (!is_number(name.text)) graph_->set_name(id, name.text);
  }

  ValueId use(const Token& name) const {
    const auto found = ids_.find(name.text);
    if (found == ids_.end()) {
      fail_at(name, "%{} is not defined before this use", name.text);
    }
    return found->second;
  }

  TensorType type() {
    const Token name = expect(TokenKind::kWord, "an element type");
    TensorType type{dtype(name), {}, {}};
    expect_mark("[");
    type.shape = integers("]");
    if (accept_mark("{")) type.strides = integers("}");
    return type;
  }

  static DType dtype(const Token& word) {
    try {
      return dtype_from_name(word.text);
    } catch (const Error& error) {
      fail_at(word, "{}", error.what());
    }
  }

  std::vector<std::int64_t> integers(std::string_view closing) {
    std::vector<std::int64_t> list;
    if (accept_mark(closing)) return list;
    do {
      list.push_back(integer(expect(TokenKind::kNumber, "an integer")));
    } while (accept_mark(","));
    expect_mark(closing);
    return list;
  }

  // ---- arguments
  // -------------------------------------------------------------
  Argument argument() {
    if (token_.kind == TokenKind::kValue) return use(advance());
    if (is_mark("[")) return list();
    if (token_.kind == TokenKind::kString) return Attribute{advance().text};
    if (token_.kind == TokenKind::kNumber) return number(advance());
    const Token word = expect(TokenKind::kWord, "an argument");
    if (is_mark("[")) return empty_list(word);
    return keyword(word);
  }

  static Attribute keyword(const Token& word) {
    if (word.text == "none") return {};
    if (word.text == "true") return {true};
    if (word.text == "false") return {false};
    if (word.text == "inf" || word.text == "nan") return {real(word)};
    return {dtype(word)};
  }

  Argument empty_list(const Token& kind) {
    expect_mark("[");
    expect_mark("]");
    if (kind.text == "tensors") return ValueList{};
    if (kind.text == "floats") return Attribute{std::vector<double>{}};
    if (kind.text == "bools") return Attribute{std::vector<bool>{}};
    fail_at(kind, "expected tensors[], floats[] or bools[], found '{}'",
            kind.text);
  }

  Argument list() {
    expect_mark("[");
    if (accept_mark("]")) return Attribute{std::vector<std::int64_t>{}};
    const Token first = token_;
    std::vector<Argument> members;
    do {
      members.push_back(argument());
    } while (accept_mark(","));
    expect_mark("]");
    if (auto values = tensor_list(members)) return *std::move(values);
    if (auto ints = list_of<std::int64_t>(members)) return *std::move(ints);
    if (auto reals = list_of<double>(members)) return *std::move(reals);
    if (auto bools = list_of<bool>(members)) return *std::move(bools);
    fail_at(first,
            "a list holds tensors (or none), integers, numbers with a point, "
            "or booleans, and only one of these");
  }

  static std::optional<ValueList> tensor_list(
      const std::vector<Argument>& members) {
    ValueList list;
    for (const Argument& member : members) {
      const auto* attribute = std::get_if<Attribute>(&member);
      if (const auto* id = std::get_if<ValueId>(&member)) {
        list.ids.push_back(*id);
      } else if (attribute && attribute->is_none()) {
        list.ids.push_back(kNoValue);
      } else {
        return std::nullopt;
      }
    }
    return list;
  }

  template <typename T>
  static std::optional<Attribute> list_of(
      const std::vector<Argument>& members) {
    std::vector<T> list;
    for (const Argument& member : members) {
      const auto* attribute = std::get_if<Attribute>(&member);
      const T* element =
          attribute ? std::get_if<T>(&attribute->value) : nullptr;
      if (!element) return std::nullopt;
      list.push_back(*element);
    }
    return Attribute{std::move(list)};
  }

  static Attribute number(const Token& token) {
    const bool integral =
        token.text.find_first_not_of("-0123456789") == std::string::npos;
    if (integral) return {integer(token)};
    return {real(token)};
  }

  template <typename T>
  static T convert(const Token& token, std::string_view what) {
    T value{};
    const char* end = token.text.data() + token.text.size();
    const auto read = std::from_chars(token.text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end) {
      fail_at(token, "'{}' is no {}", token.text, what);
    }
    return value;
  }
  static std::int64_t integer(const Token& token) {
    return convert<std::int64_t>(token, "64-bit integer");
  }
  static double real(const Token& token) {
    return convert<double>(token, "number");
  }

  Lexer lexer_;
  Token token_;
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Graph parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace merak::graph
