// PeerChannels over every Communicator.
#include <array>
#include <numeric>

#include "merak/base/error.h"
#include "merak/dist/communicator_conformance.h"
#include "merak/dist/peer_channels.h"

namespace merak::dist {
namespace {

constexpr std::array<std::size_t, 4> kPartSizes = {0, 1, 4097, 300001};

// A message of several parts whose bytes tell who sent what.
class Message {
 public:
  Message(int seed, bool filled) {
    for (std::size_t i = 0; i < kPartSizes.size(); ++i) {
      data_[i].resize(kPartSizes[i]);
      for (std::size_t k = 0; filled && k < kPartSizes[i]; ++k) {
        data_[i][k] = static_cast<unsigned char>(
            static_cast<std::size_t>(seed) * 31 + i * 7 + k);
      }
      parts_[i] = {data_[i].data(), data_[i].size()};
    }
  }
  const std::array<MessagePart, 4>& parts() const { return parts_; }
  bool operator==(const Message& other) const { return data_ == other.data_; }

 private:
  std::array<std::vector<unsigned char>, 4> data_;
  std::array<MessagePart, 4> parts_;
};

int seed(int from, int to, int channel, int tag) {
  return ((from * 5 + to) * 2 + channel) * 8 + tag;
}

}  // namespace

// Between all neighbours, both ways, two channels each: receives are posted
// ahead in the order of tags, sends against it.
TEST_P(CommunicatorConformance, PeerChannelsCarryListsBothWays) {
  const int ranks = GetParam().ranks;
  constexpr int kMessages = 5;
  std::vector<Lane> lanes;
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    for (const int channel : {1, 0}) {
      lanes.push_back({rank, rank + 1, channel});
      lanes.push_back({rank + 1, rank, channel});
    }
  }
  GetParam().run(ranks, [&](GroupFactory& factory) {
    PeerChannels channels(factory, lanes);
    const int rank = factory.rank();
    std::vector<std::unique_ptr<Message>> got, sent;
    std::vector<int> seeds;
    std::vector<WorkHandle> works;
    for (const Lane& lane : lanes) {
      if (lane.to != rank) continue;
      for (int tag = 0; tag < kMessages; ++tag) {
        seeds.push_back(seed(lane.from, rank, lane.channel, tag));
        got.push_back(std::make_unique<Message>(0, false));
        works.push_back(channels.receive(lane.from, lane.channel, tag,
                                         got.back()->parts()));
      }
    }
    for (const Lane& lane : lanes) {
      if (lane.from != rank) continue;
      for (int tag = kMessages - 1; tag >= 0; --tag) {
        sent.push_back(std::make_unique<Message>(
            seed(rank, lane.to, lane.channel, tag), true));
        works.push_back(
            channels.send(lane.to, lane.channel, tag, sent.back()->parts()));
      }
    }
    for (const WorkHandle& work : works) work->wait();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(*got[i] == Message(seeds[i], true)) << i;
    }
    EXPECT_THROW(channels.send(rank, 0, 0, {}), Error);
    EXPECT_THROW(channels.receive((rank + 1) % ranks, 7, 0, {}), Error);
  });
}

}  // namespace merak::dist
