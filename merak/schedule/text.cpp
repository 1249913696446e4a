#include "merak/schedule/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/str.h"

namespace merak::schedule {

namespace {

constexpr int kNumberLimit = 1'000'000;

// How one type of action is written.
struct Form {
  ActionType type;
  std::string_view word;
  bool stage = true;
  bool micro_batch = true;
  char peer_mark = 0;       // '>' or '<' before the peer
  std::string_view sample;  // for error messages
};

constexpr std::array<Form, 13> kForms = {{
    {ActionType::kLoad, "L", true, true, 0, "0L1"},
    {ActionType::kForward, "F", true, true, 0, "0F1"},
    {ActionType::kRecompute, "R", true, true, 0, "0R1"},
    {ActionType::kBackward, "B", true, true, 0, "0B1"},
    {ActionType::kBackwardInput, "I", true, true, 0, "0I1"},
    {ActionType::kBackwardWeight, "W", true, true, 0, "0W1"},
    {ActionType::kSendActivation, "SEND_F", true, true, '>', "0SEND_F1>2"},
    {ActionType::kReceiveActivation, "RECV_F", true, true, '<', "2RECV_F1<0"},
    {ActionType::kSendGradient, "SEND_B", true, true, '>', "2SEND_B1>0"},
    {ActionType::kReceiveGradient, "RECV_B", true, true, '<', "0RECV_B1<2"},
    {ActionType::kReduceGradients, "REDUCE", true, false, 0, "0REDUCE"},
    {ActionType::kReduceTiedGradients, "REDUCE_TIED", false, false, 0,
     "REDUCE_TIED"},
    {ActionType::kOptimizerStep, "STEP", false, false, 0, "STEP"},
}};

const Form& form_of(ActionType type) {
  return *std::ranges::find(kForms, type, &Form::type);
}

std::string all_samples() {
  std::vector<std::string> samples;
  for (const Form& form : kForms) samples.emplace_back(form.sample);
  return join(samples, " ");
}

// Reads one action from the front to the back; numbers that are absent are
// kNone.
class ActionReader {
 public:
  explicit ActionReader(std::string_view text) : text_(text), rest_(text) {}

  Action read() {
    Action action;
    action.stage = take_number();
    const std::string_view word = take_word();
    const auto form = std::ranges::find(kForms, word, &Form::word);
    if (form == kForms.end()) {
      fail_usage("'{}' is no action; actions look like {}", text_,
                 all_samples());
    }
    action.type = form->type;
    action.micro_batch = take_number();
    const char mark = take_mark();
    if (mark != 0) action.peer = take_number();
    const bool fits = rest_.empty() && form->stage == (action.stage != kNone) &&
                      form->micro_batch == (action.micro_batch != kNone) &&
                      form->peer_mark == mark &&
                      (mark != 0) == (action.peer != kNone);
    if (!fits) {
      fail_usage("'{}' is no action; {} is written like {}", text_, word,
                 form->sample);
    }
    return action;
  }

 private:
  std::string_view take_while(bool (*wanted)(char)) {
    const auto end = std::ranges::find_if_not(rest_, wanted);
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  int take_number() {
    const std::string_view digits =
        take_while([](char c) { return '0' <= c && c <= '9'; });
    int number = digits.empty() ? kNone : 0;
    for (const char digit : digits) {
      number = number * 10 + (digit - '0');
      if (number >= kNumberLimit) {
        fail_usage("'{}': a number of {} or more", text_, kNumberLimit);
      }
    }
    return number;
  }

  std::string_view take_word() {
    return take_while(
        [](char c) { return ('A' <= c && c <= 'Z') || c == '_'; });
  }

  char take_mark() {
    if (rest_.empty() || (rest_[0] != '<' && rest_[0] != '>')) return 0;
    const char mark = rest_[0];
    rest_.remove_prefix(1);
    return mark;
  }

  std::string_view text_;
  std::string_view rest_;
};

struct Word {
  std::string_view text;
  std::size_t line = 0;  // from 1
  std::size_t column = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void append_words(std::string_view line, std::size_t number,
                  std::vector<Word>& words) {
  line = line.substr(0, line.find('#'));
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && !is_blank(line[end])) ++end;
    if (end > begin) {
      words.push_back({line.substr(begin, end - begin), number, begin + 1});
    }
    begin = end + 1;
  }
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  std::size_t number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    append_words(text.substr(0, end), number++, words);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

class ScheduleReader {
 public:
  ScheduleReader(std::string_view text, std::string_view source)
      : source_(source), words_(words_of(text)) {}

  ActionLists read() {
    ActionLists lists;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].text == "rank") {
        expect_rank(i, lists.size());
        lists.emplace_back();
        ++i;
      } else if (lists.empty()) {
        fail_at(words_[i],
                fmt::format("'{}' stands before 'rank 0:'", words_[i].text));
      } else {
        lists.back().push_back(action(words_[i]));
      }
    }
    if (lists.empty()) {
      fail_usage("{}: no ranks; a schedule looks like 'rank 0: 0F0 0B0'",
                 source_);
    }
    return lists;
  }

 private:
  // The word after `rank` at i.
  void expect_rank(std::size_t i, std::size_t rank) const {
    const std::string expected = fmt::format("{}:", rank);
    if (i + 1 < words_.size() && words_[i + 1].text == expected) return;
    fail_at(words_[i],
            fmt::format("expected 'rank {}', found '{}'; ranks come "
                        "in order, each once",
                        expected,
                        i + 1 < words_.size()
                            ? fmt::format("rank {}", words_[i + 1].text)
                            : "rank"));
  }

  Action action(const Word& word) const {
    try {
      return parse_action(word.text);
    } catch (const Error& error) {
      fail_at(word, error.what());
    }
  }

  [[noreturn]] void fail_at(const Word& word,
                            const std::string& problem) const {
    fail_usage("{}: line {}, column {}: {}", source_, word.line, word.column,
               problem);
  }

  std::string_view source_;
  std::vector<Word> words_;
};

}  // namespace

std::string to_text(const Action& action) {
  const Form& form = form_of(action.type);
  std::string text;
  if (form.stage) text += fmt::format("{}", action.stage);
  text += form.word;
  if (form.micro_batch) text += fmt::format("{}", action.micro_batch);
  if (form.peer_mark != 0) {
    text += fmt::format("{}{}", form.peer_mark, action.peer);
  }
  return text;
}

std::string to_text(const ActionList& list) {
  std::vector<std::string> actions;
  for (const Action& action : list) actions.push_back(to_text(action));
  return join(actions, " ");
}

std::string to_text(const ActionLists& lists) {
  std::string text;
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    text += fmt::format("rank {}: {}\n", rank, to_text(lists[rank]));
  }
  return text;
}

Action parse_action(std::string_view text) { return ActionReader(text).read(); }

ActionLists parse_schedule(std::string_view text, std::string_view source) {
  return ScheduleReader(text, source).read();
}

std::string locate(const ActionLists& lists, std::size_t rank,
                   std::size_t index) {
  const ActionList& list = lists[rank];
  return fmt::format("rank {}, action {} ({})", rank, index,
                     index < list.size() ? to_text(list[index]) : "the end");
}

}  // namespace merak::schedule
