// The documents of text files, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "merak/base/mapped_file.h"
#include "merak/data/tokens/input_files.h"

namespace merak::data {

class Document {
 public:
  Document() = default;
  // A view lives as long as the reader that made it.
  explicit Document(std::string_view view) : view_(view) {}
  Document(std::string text, std::uint64_t line)
      : text_(std::move(text)), line_(line) {}

  std::string_view text() const { return line_ > 0 ? text_ : view_; }
  std::uint64_t line() const { return line_; }  // from 1; 0: a whole file

 private:
  std::string_view view_;
  std::string text_;
  std::uint64_t line_ = 0;
};

class DocumentReader {
 public:
  // `input` is plain text or JSON lines. The file stays mapped.
  explicit DocumentReader(const InputFile& input);

  // False at the end. Empty documents and blank lines are left out. Usage
  // errors name the file and the line: not JSON, no string "text".
  bool next(Document& document);

  std::string_view bytes() const { return file_.bytes(); }
  std::uint64_t bytes_read() const { return at_; }

 private:
  bool next_line(Document& document);

  InputFile input_;
  MappedFile file_;
  std::uint64_t at_ = 0;
  std::uint64_t line_ = 0;
};

}  // namespace merak::data
