// A member that sends large messages: the link's own bytes of a head, an offer, and
// chunks in any order. What is written lies where there is memory, and a message
// that is whole has the sizes that were offered.
//
// Input: 32 bytes of a head; the number of parts of the offer, at most 7; the size of
// each, 16 bits; the parts; then chunks: part, offset and size, a byte each.

#include <algorithm>
#include <cstdint>

#include "muster/base/check.h"
#include "muster/net/link_head.h"
#include "muster/net/transfer.h"

namespace {

using namespace muster;

constexpr std::uint64_t kMostBody = std::uint64_t{1} << 16;

std::span<const std::byte> take(std::span<const std::byte>& from, std::size_t size) {
  const auto taken = from.first(std::min(size, from.size()));
  from = from.subspan(taken.size());
  return taken;
}

std::size_t take_byte(std::span<const std::byte>& from) {
  const auto taken = take(from, 1);
  return taken.empty() ? 0 : std::to_integer<std::size_t>(taken[0]);
}

void check_head(std::span<const std::byte> bytes) {
  wire::Head head;
  head.assign(bytes);
  net::LinkHead link;
  if (!net::read_link_head(head, 1, link)) {
    MUSTER_CHECK(!net::why_not_a_head(head, 1).message().empty(), "there is a reason");
    return;
  }
  MUSTER_CHECK(net::name(link.kind) != "unknown", "a kind that is read has a name");
  wire::Head written = head;
  net::write_link_head(link, written);
  MUSTER_CHECK(std::ranges::equal(written.bytes(), head.bytes()), "a head has one form");
}

void send_chunks(net::IncomingTransfer& transfer, std::span<const std::byte> bytes) {
  while (!bytes.empty() && !transfer.is_whole()) {
    const std::size_t part = take_byte(bytes);
    const std::uint64_t offset = take_byte(bytes);
    const std::size_t size = take_byte(bytes);
    WritableBuffer placed = transfer.place(part, offset, size);
    std::ranges::fill(placed.bytes(), std::byte{0xab});
    if (placed.size() == 0) placed = WritableBuffer::on_heap(size);
    static_cast<void>(transfer.accept(part, offset, std::move(placed).freeze()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  check_head(take(bytes, net::kLinkHead));
  wire::Parts parts;
  const std::size_t count = take_byte(bytes) % 8;
  const auto sizes = take(bytes, 2 * count);
  for (std::size_t i = 0; 2 * i + 1 < sizes.size(); ++i) {
    const auto wanted = wire::load<std::uint16_t>(sizes.data() + 2 * i);
    parts.push_back(Buffer::copy_of(take(bytes, wanted)));
  }
  auto transfer = net::IncomingTransfer::read(1, std::move(parts), kMostBody);
  if (!transfer) return 0;
  MUSTER_CHECK(transfer->bytes() > 0 && transfer->bytes() <= kMostBody, "within the limit");
  send_chunks(*transfer, bytes);
  MUSTER_CHECK(!transfer->is_whole(), "nothing is taken before it is granted");
  std::uint64_t found = 0;
  MUSTER_CHECK(transfer->allocate([&](std::size_t, std::uint64_t part) {
    found += part;
    return WritableBuffer::on_heap(part);
  }),
               "there is memory for little");
  MUSTER_CHECK(found == transfer->bytes(), "as much memory as was offered");
  send_chunks(*transfer, bytes);
  if (!transfer->is_whole()) return 0;
  std::uint64_t sum = 0;
  for (const Buffer& part : transfer->take()) sum += part.size();
  MUSTER_CHECK(sum >= found && sum <= kMostBody, "as large as was offered");
  return 0;
}
