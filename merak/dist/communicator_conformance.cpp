#include "merak/dist/communicator_conformance.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>

#include "merak/base/error.h"
#include "merak/dist/mesh.h"

namespace merak::dist {

void run_rank_threads(
    int ranks,
    const std::function<std::unique_ptr<GroupFactory>(int rank)>& make,
    const RankBody& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<GroupFactory> factory = make(rank);
        body(*factory);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

std::vector<ConformanceCase> conformance_cases(const RunRanks& run) {
  std::vector<ConformanceCase> cases;
  for (int ranks = 1; ranks <= 5; ++ranks) {
    cases.push_back({fmt::format("{}_ranks", ranks), ranks, run});
  }
  return cases;
}

namespace {

constexpr std::int64_t kSizes[] = {0, 1, 7, 1000, 10007};
constexpr DType kDTypes[] = {DType::kU8,  DType::kI8,  DType::kI32,
                             DType::kI64, DType::kF16, DType::kBF16,
                             DType::kF32, DType::kF64};

std::vector<int> everyone(const GroupFactory& factory) {
  std::vector<int> ranks(static_cast<std::size_t>(factory.world_size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::unique_ptr<Communicator> world(GroupFactory& factory) {
  return factory.make_group("world", everyone(factory));
}

// Elements of any type, holding small whole numbers, which all types have.
class Numbers {
 public:
  Numbers(DType dtype, std::int64_t count)
      : dtype_(dtype),
        count_(count),
        bytes_(static_cast<std::size_t>(count) * size_of(dtype) + 8) {}

  Buffer buffer() { return {bytes_.data(), count_, dtype_}; }

  void set(std::int64_t index, int value) {
    switch (dtype_) {
      case DType::kU8:
        return put(index, static_cast<std::uint8_t>(value));
      case DType::kI8:
        return put(index, static_cast<std::int8_t>(value));
      case DType::kI32:
        return put(index, value);
      case DType::kI64:
        return put(index, std::int64_t{value});
      case DType::kF16:
        return put(index, static_cast<_Float16>(value));
      case DType::kBF16:
        return put(index, bf16(static_cast<float>(value)));
      case DType::kF32:
        return put(index, static_cast<float>(value));
      case DType::kF64:
        return put(index, static_cast<double>(value));
      default:
        FAIL();
    }
  }
  double get(std::int64_t index) const {
    switch (dtype_) {
      case DType::kU8:
        return take<std::uint8_t>(index);
      case DType::kI8:
        return take<std::int8_t>(index);
      case DType::kI32:
        return take<std::int32_t>(index);
      case DType::kI64:
        return static_cast<double>(take<std::int64_t>(index));
      case DType::kF16:
        return static_cast<double>(take<_Float16>(index));
      case DType::kBF16:
        return static_cast<double>(std::bit_cast<float>(
            static_cast<std::uint32_t>(take<std::uint16_t>(index)) << 16));
      case DType::kF32:
        return static_cast<double>(take<float>(index));
      case DType::kF64:
        return take<double>(index);
      default:
        return std::nan("");
    }
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static std::uint16_t bf16(float exact) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(exact) >>
                                      16);
  }
  template <typename T>
  void put(std::int64_t index, T value) {
    std::memcpy(bytes_.data() + index * static_cast<std::int64_t>(sizeof(T)),
                &value, sizeof(T));
  }
  template <typename T>
  T take(std::int64_t index) const {
    T value;
    std::memcpy(&value,
                bytes_.data() + index * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    return value;
  }

  DType dtype_;
  std::int64_t count_;
  std::vector<std::byte> bytes_;
};

int pattern(int rank, std::int64_t index) {
  return static_cast<int>((index * 3 + std::int64_t{rank} * 5) % 11);
}

Numbers filled(DType dtype, std::int64_t count, int rank) {
  Numbers numbers(dtype, count);
  for (std::int64_t i = 0; i < count; ++i) numbers.set(i, pattern(rank, i));
  return numbers;
}

int expected(ReduceOp op, int ranks, std::int64_t index) {
  int value = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int part = pattern(rank, index);
    value = op == ReduceOp::kSum ? value + part : std::max(value, part);
  }
  return value;
}

std::string describe(DType dtype, std::int64_t count) {
  return fmt::format("{} x {}", count, name_of(dtype));
}

}  // namespace

TEST_P(CommunicatorConformance, AllReduceOfEveryTypeAndSize) {
  const int ranks = GetParam().ranks;
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    for (const DType dtype : kDTypes) {
      for (const std::int64_t count : kSizes) {
        for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
          Numbers numbers = filled(dtype, count, group->rank());
          group->all_reduce(numbers.buffer(), op)->wait();
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < count; ++i) {
            wrong += numbers.get(i) != expected(op, ranks, i);
          }
          EXPECT_EQ(wrong, 0) << describe(dtype, count) << name_of(op);
        }
      }
    }
  });
}

// Sums that round: close to the true one, and the same bits everywhere.
TEST_P(CommunicatorConformance, AllReduceGivesEveryRankTheSameBits) {
  const int ranks = GetParam().ranks;
  constexpr std::int64_t kCount = 10007;
  std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
  const auto value = [](int rank, std::int64_t i) {
    return std::sin(static_cast<double>(i * 7 + std::int64_t{rank} * 1000)) *
           std::pow(10.0, static_cast<double>(i % 5));
  };
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    std::vector<float>& mine = results[static_cast<std::size_t>(group->rank())];
    for (std::int64_t i = 0; i < kCount; ++i) {
      mine.push_back(static_cast<float>(value(group->rank(), i)));
    }
    group->all_reduce({mine.data(), kCount, DType::kF32}, ReduceOp::kSum)
        ->wait();
  });
  for (const std::vector<float>& result : results) {
    ASSERT_EQ(result.size(), static_cast<std::size_t>(kCount));
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(result)),
                                   std::as_bytes(std::span(results.front()))));
  }
  for (std::int64_t i = 0; i < kCount; ++i) {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i);
    EXPECT_NEAR(results[0][static_cast<std::size_t>(i)], sum, 1e-2);
  }
}

TEST_P(CommunicatorConformance, AllGatherIsInRankOrder) {
  const int ranks = GetParam().ranks;
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kBF16}) {
      for (const std::int64_t count : kSizes) {
        Numbers input = filled(dtype, count, group->rank());
        Numbers output(dtype, count * ranks);
        group->all_gather(input.buffer(), output.buffer())->wait();
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < count * ranks; ++i) {
          wrong +=
              output.get(i) != pattern(static_cast<int>(i / count), i % count);
        }
        EXPECT_EQ(wrong, 0) << describe(dtype, count);
      }
    }
  });
}

TEST_P(CommunicatorConformance, BroadcastFromEveryRoot) {
  const int ranks = GetParam().ranks;
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    for (int root = 0; root < ranks; ++root) {
      for (const std::int64_t count : kSizes) {
        Numbers numbers = filled(DType::kF64, count, group->rank());
        group->broadcast(numbers.buffer(), root)->wait();
        EXPECT_EQ(numbers.bytes(), filled(DType::kF64, count, root).bytes());
      }
    }
  });
}

TEST_P(CommunicatorConformance, NobodyLeavesABarrierBeforeAllHaveCome) {
  const int ranks = GetParam().ranks;
  constexpr int kRounds = 20;
  std::atomic<int> arrived{0};
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    for (int round = 1; round <= kRounds; ++round) {
      ++arrived;
      group->barrier()->wait();
      EXPECT_GE(arrived.load(), round * ranks);
      group->barrier()->wait();
    }
  });
}

// Collectives of two groups are posted in an order that differs by rank, many
// at once, and waited for in reverse.
TEST_P(CommunicatorConformance, TwoGroupsAreIndependent) {
  const int ranks = GetParam().ranks;
  constexpr int kRounds = 6;
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const std::vector<int> members = everyone(factory);
    const std::unique_ptr<Communicator> groups[] = {
        factory.make_group("a", members), factory.make_group("b", members)};
    std::vector<Numbers> numbers;
    for (int i = 0; i < 2 * kRounds; ++i) {
      numbers.push_back(filled(DType::kF32, 1000 + i, factory.rank()));
    }
    std::vector<WorkHandle> works;
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (turn + factory.rank()) % 2;
      for (int i = 0; i < kRounds; ++i) {
        const auto at = static_cast<std::size_t>(which) * kRounds +
                        static_cast<std::size_t>(i);
        works.push_back(
            groups[which]->all_reduce(numbers[at].buffer(), ReduceOp::kSum));
      }
    }
    while (!works.empty()) {
      works.back()->wait();
      works.pop_back();
    }
    for (Numbers& each : numbers) {
      for (std::int64_t i = 0; i < each.buffer().count; ++i) {
        ASSERT_EQ(each.get(i), expected(ReduceOp::kSum, ranks, i));
      }
    }
  });
}

// One of the messages that every rank sends its neighbours in a ring.
struct RingMessage {
  std::size_t direction;
  int tag, turn;

  // Directions have tags of their own: with 2 ranks both go to one peer.
  int wire_tag() const { return static_cast<int>(direction) * 2 + tag; }
  std::vector<int> content(int sender, std::int64_t count) const {
    return std::vector<int>(static_cast<std::size_t>(count + turn),
                            sender * 100 + wire_tag() * 2 + turn);
  }
};

std::vector<RingMessage> ring_messages(std::array<int, 2> tags) {
  std::vector<RingMessage> messages;
  for (const std::size_t direction : {0U, 1U}) {
    for (const int tag : tags) {
      for (const int turn : {0, 1}) messages.push_back({direction, tag, turn});
    }
  }
  return messages;
}

// Round a ring in both directions at once, several messages of one tag and
// another tag between them; receives of the tags are posted the other way
// round.
TEST_P(CommunicatorConformance, MessagesAreMatchedByTagAndInOrder) {
  const int ranks = GetParam().ranks;
  if (ranks == 1) return;
  GetParam().run(ranks, [&](GroupFactory& factory) {
    const auto group = world(factory);
    // By direction: to the right, to the left.
    const std::array to = {(group->rank() + 1) % ranks,
                           (group->rank() + ranks - 1) % ranks};
    const std::array from = {to[1], to[0]};
    const auto receives = ring_messages({1, 0});
    for (const std::int64_t count : kSizes) {
      std::vector<WorkHandle> works;
      std::vector<std::vector<int>> sent, got;
      for (const RingMessage& message : ring_messages({0, 1})) {
        sent.push_back(message.content(group->rank(), count));
        works.push_back(group->send(std::as_bytes(std::span(sent.back())),
                                    to[message.direction], message.wire_tag()));
      }
      for (const RingMessage& message : receives) {
        got.emplace_back(static_cast<std::size_t>(count + message.turn), -1);
        works.push_back(
            group->receive(std::as_writable_bytes(std::span(got.back())),
                           from[message.direction], message.wire_tag()));
      }
      for (const WorkHandle& work : works) work->wait();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const int sender = from[receives[i].direction];
        EXPECT_EQ(got[i], receives[i].content(sender, count));
      }
    }
  });
}

TEST_P(CommunicatorConformance, GroupsOfAMeshReduceAlongTheirAxis) {
  const int ranks = GetParam().ranks;
  const Mesh mesh = ranks == 4 ? Mesh(2, 1, 2) : Mesh(1, ranks, 1);
  GetParam().run(ranks, [&](GroupFactory& factory) {
    MeshGroups groups = make_mesh_groups(mesh, factory);
    const auto sum_along = [&](Communicator& group) {
      double value = std::pow(2.0, factory.rank());
      group.all_reduce({&value, 1, DType::kF64}, ReduceOp::kSum)->wait();
      return value;
    };
    const auto right_sum = [&](Axis axis) {
      double sum = 0;
      for (const int rank : mesh.group(factory.rank(), axis)) {
        sum += std::pow(2.0, rank);
      }
      return sum;
    };
    EXPECT_EQ(sum_along(*groups.pipeline), right_sum(Axis::kPipeline));
    EXPECT_EQ(sum_along(*groups.data), right_sum(Axis::kData));
    EXPECT_EQ(sum_along(*groups.tensor), right_sum(Axis::kTensor));
    EXPECT_EQ(sum_along(*groups.world), std::pow(2.0, ranks) - 1);
  });
}

}  // namespace merak::dist
