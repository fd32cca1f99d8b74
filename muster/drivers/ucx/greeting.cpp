#include "muster/drivers/ucx/greeting.h"

#include <string>

#include "muster/wire/bytes.h"

namespace muster::drivers::ucx {
namespace {

constexpr std::uint32_t kMagic = 0x5843554d;  // "MUCX"
constexpr std::uint8_t kVersion = 2;

// Where the fields stand in the head.
constexpr std::size_t kAtVersion = 4;
constexpr std::size_t kAtKind = 5;
constexpr std::size_t kAtHub = 8;
constexpr std::size_t kAtKey = 24;
constexpr std::size_t kAtPair = 32;
constexpr std::size_t kSize = 40;

bool names_a_worker(Greeting::Kind kind) {
  return kind == Greeting::Kind::pair || kind == Greeting::Kind::ready;
}

}  // namespace

wire::Frame encode(const Greeting& greeting) {
  wire::Frame frame;
  std::byte* const at = frame.head.resize(kSize).data();
  std::memset(at, 0, kSize);
  wire::store(at, kMagic);
  wire::store(at + kAtVersion, kVersion);
  wire::store(at + kAtKind, greeting.kind);
  wire::store(at + kAtHub, greeting.hub.high);
  wire::store(at + kAtHub + sizeof(std::uint64_t), greeting.hub.low);
  wire::store(at + kAtKey, greeting.key);
  wire::store(at + kAtPair, greeting.pair);
  if (names_a_worker(greeting.kind)) frame.parts.push_back(greeting.worker);
  return frame;
}

Result<Greeting> decode_greeting(const wire::Frame& frame) {
  const std::byte* const at = frame.head.bytes().data();
  if (frame.head.size() != kSize || wire::load<std::uint32_t>(at) != kMagic) {
    return Error(Code::invalid, "the peer does not speak as a ucx driver does");
  }
  const auto version = wire::load<std::uint8_t>(at + kAtVersion);
  if (version != kVersion) {
    return Error(Code::unsupported, "the peer's ucx driver is of version " +
                                        std::to_string(version) + ", this one of version " +
                                        std::to_string(kVersion));
  }
  Greeting greeting;
  const auto kind = wire::load<std::uint8_t>(at + kAtKind);
  if (kind < 1 || kind > 4) return Error(Code::invalid, "a greeting of an unknown kind");
  greeting.kind = static_cast<Greeting::Kind>(kind);
  greeting.hub.high = wire::load<std::uint64_t>(at + kAtHub);
  greeting.hub.low = wire::load<std::uint64_t>(at + kAtHub + sizeof(std::uint64_t));
  greeting.key = wire::load<std::uint64_t>(at + kAtKey);
  greeting.pair = wire::load<std::uint64_t>(at + kAtPair);
  const std::size_t parts = names_a_worker(greeting.kind) ? 1 : 0;
  if (frame.parts.size() != parts) return Error(Code::invalid, "a greeting of a wrong shape");
  if (parts == 1) {
    greeting.worker = frame.parts[0];
    if (greeting.worker.empty() || greeting.worker.size() > kMostAddress) {
      return Error(Code::invalid, "a greeting without the address of a worker");
    }
  }
  return greeting;
}

}  // namespace muster::drivers::ucx
