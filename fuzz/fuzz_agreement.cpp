// A rank that tells others whom it takes for lost: what is read, written again,
// is read the same, and an agreement takes whatever can be read.

#include <cstdint>
#include <span>

#include "muster/base/check.h"
#include "muster/collectives/agreement.h"

namespace {

constexpr muster::collectives::Rank kRanks = 5;

}  // namespace

// A byte for who says it; the rest is what is said.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  using namespace muster::collectives;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (bytes.empty()) return 0;
  const Result<AgreementMessage> message = decode_agreement(bytes.subspan(1), kRanks);
  if (!message) return 0;
  const Result<AgreementMessage> again = decode_agreement(encode(*message), kRanks);
  MUSTER_CHECK(again && *again == *message, "what was read can be written");
  Agreement agreement(kRanks, 0, {});
  agreement.receive(1 + static_cast<Rank>(std::to_integer<int>(bytes[0]) % (kRanks - 1)), *message);
  static_cast<void>(agreement.take_outgoing());
  return 0;
}
