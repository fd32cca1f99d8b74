// A message of the embedded registry, and its file, from a stranger.

#include <cstdint>
#include <span>

#include "muster/base/check.h"
#include "muster/registries/embedded/message.h"
#include "muster/registries/embedded/state.h"

using namespace muster;
using namespace muster::registries::embedded;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto message = decode(bytes)) {
    MUSTER_CHECK(*decode(encode(*message)) == *message, "what is read can be written");
  }
  if (const auto state = decode_state(bytes)) {
    MUSTER_CHECK(*decode_state(encode_state(*state)) == *state, "what is read can be written");
    (void)Directory(TimePoint{}, *state).state();
  }
  return 0;
}
