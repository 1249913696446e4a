#include "merak/metrics/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <vector>

#include "merak/base/error.h"
#include "merak/base/file.h"

namespace merak::metrics {
namespace {

// ---- protobuf wire format --------------------------------------------------
//
// A field is a tag (number * 8 + wire type) and a value. Wire types: 0 varint,
// 1 eight bytes, 2 length and bytes, 5 four bytes.

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) {
    out += static_cast<char>(value % 128 + 128);
  }
  out += static_cast<char>(value);
}

template <typename Unsigned>
void put_little_endian(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

void put_int(std::string& out, int field, std::int64_t value) {
  put_varint(out, static_cast<std::uint64_t>(field) * 8 + 0);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_double(std::string& out, int field, double value) {
  put_varint(out, static_cast<std::uint64_t>(field) * 8 + 1);
  put_little_endian(out, std::bit_cast<std::uint64_t>(value));
}

void put_float(std::string& out, int field, float value) {
  put_varint(out, static_cast<std::uint64_t>(field) * 8 + 5);
  put_little_endian(out, std::bit_cast<std::uint32_t>(value));
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_varint(out, static_cast<std::uint64_t>(field) * 8 + 2);
  put_varint(out, bytes.size());
  out += bytes;
}

// ---- tensorflow/core/util/event.proto, summary.proto: field numbers --------

constexpr int kEventWallTime = 1;
constexpr int kEventStep = 2;
constexpr int kEventFileVersion = 3;
constexpr int kEventSummary = 5;
constexpr int kEventSessionLog = 7;
constexpr int kSummaryValue = 1;
constexpr int kValueTag = 1;
constexpr int kValueSimpleValue = 2;
constexpr int kSessionLogStatus = 1;
constexpr int kSessionLogStart = 1;  // a value of SessionLog.status

std::string event(std::int64_t step, double wall_time) {
  std::string out;
  put_double(out, kEventWallTime, wall_time);
  put_int(out, kEventStep, step);
  return out;
}

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc % 2 == 1 ? 0x82f63b78u : 0u);
    }
    table[i] = crc;
  }
  return table;
}

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  std::uint32_t crc = 0xffffffffu;
  for (char c : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string tf_record(std::string_view bytes) {
  std::string out;
  put_little_endian(out, static_cast<std::uint64_t>(bytes.size()));
  put_little_endian(out, masked_crc32c(out));
  out += bytes;
  put_little_endian(out, masked_crc32c(bytes));
  return out;
}

EventFile::EventFile(const std::filesystem::path& folder,
                     std::int64_t first_step) {
  make_folder(folder);
  const double start = now();
  // TensorBoard reads files in the order of their names: the time comes first.
  for (int attempt = 0; fd_ < 0; ++attempt) {
    path_ = folder / fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                 static_cast<std::int64_t>(start), host_name(),
                                 ::getpid(), attempt);
    fd_ = ::open(path_.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      fail_runtime("cannot make {}: {}", path_.string(),
                   std::error_code(errno, std::generic_category()).message());
    }
  }
  std::string version = event(0, start);
  put_bytes(version, kEventFileVersion, "brain.Event:2");
  append(version);
  std::string log;
  put_int(log, kSessionLogStatus, kSessionLogStart);
  std::string session = event(first_step, start);
  put_bytes(session, kEventSessionLog, log);
  append(session);
}

EventFile::~EventFile() {
  if (fd_ >= 0) ::close(fd_);
}

void EventFile::append(std::string_view bytes) {
  write_all(fd_, tf_record(bytes), path_.string());
}

void EventFile::write(std::int64_t step, std::span<const Scalar> scalars,
                      double wall_time) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, kValueTag, scalar.tag);
    put_float(value, kValueSimpleValue, static_cast<float>(scalar.value));
    put_bytes(summary, kSummaryValue, value);
  }
  std::string message = event(step, wall_time);
  put_bytes(message, kEventSummary, summary);
  append(message);
}

void EventFile::write(const StepRecord& record) {
  std::vector<Scalar> scalars = {
      {"train/loss", record.loss},
      {"train/grad_norm", record.grad_norm},
      {"train/lr", record.lr},
      {"train/loss_scale", record.loss_scale},
      {"speed/tokens_per_s", record.tokens_per_s},
      {"speed/step_ms", record.step_ms},
      {"speed/bubble", record.bubble},
  };
  for (std::size_t rank = 0; rank < record.peak_bytes.size(); ++rank) {
    scalars.push_back({fmt::format("memory/peak_bytes_rank_{}", rank),
                       static_cast<double>(record.peak_bytes[rank])});
  }
  write(record.step, scalars, now());
}

void EventFile::write(const EvalRecord& record) {
  const std::array<Scalar, 1> scalars = {
      Scalar{"validation/loss", record.validation_loss}};
  write(record.step, scalars, now());
}

}  // namespace merak::metrics
