#include "muster/drivers/zmq/packet.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "muster/wire/small_frame.h"

namespace muster::drivers::zmq {
namespace {

constexpr std::string_view kHello = "muster zmq 1";
// Parts may hold numbers of any kind.
constexpr std::size_t kAlignment = 16;

std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

Error invalid(std::string why) { return {Code::invalid, std::move(why)}; }

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Packet make_packet(PacketKind kind) {
  Packet made;
  made.bytes.push_back(static_cast<std::byte>(kind));
  if (kind == PacketKind::hello) append(made.bytes, std::as_bytes(std::span(kHello)));
  return made;
}

bool is_hello(std::span<const std::byte> bytes) {
  return std::ranges::equal(bytes, make_packet(PacketKind::hello).bytes);
}

Result<PacketKind> kind_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return invalid("an empty packet");
  const auto kind = static_cast<PacketKind>(bytes[0]);
  const bool is_known = kind >= PacketKind::hello && kind <= PacketKind::probe;
  if (!is_known) return invalid("a packet of no known kind");
  return kind;
}

void PacketQueue::push(wire::Frame& frame) {
  Packet& packet = open_packet();
  ++packet.frames;
  packet.body += frame.body_size();
  const std::size_t before = packet.bytes.size();
  const std::size_t prefix = wire::prefix_size(frame.parts.size());
  packet.bytes.resize(before + prefix + frame.head.size());
  std::byte* const opening = packet.bytes.data() + before;
  wire::write_prefix(frame, {opening, prefix});
  frame.head.copy_to(opening + prefix);
  for (Buffer& part : frame.parts) {
    if (part.size() < kOwnPart) {
      append(packet.bytes, part.bytes());
    } else {
      packet.size += part.size();
      bytes_ += part.size();
      packet.parts.push_back(std::move(part));
    }
  }
  packet.size += packet.bytes.size() - before;
  bytes_ += packet.bytes.size() - before;
  frame.parts.clear();
}

// One that has room, and nothing behind it yet.
Packet& PacketQueue::open_packet() {
  if (!packets_.empty()) {
    Packet& last = packets_.back();
    if (last.bytes.size() < kFullPacket && last.parts.empty()) return last;
  }
  Packet& made = packets_.emplace_back();
  made.bytes.swap(spare_);
  made.bytes.assign(1, static_cast<std::byte>(PacketKind::frames));
  made.size = 1;
  ++bytes_;
  return made;
}

void PacketQueue::pop() {
  Packet& first = packets_.front();
  bytes_ -= first.size;
  spare_.swap(first.bytes);
  packets_.pop_front();
}

void PacketQueue::clear() {
  packets_.clear();
  bytes_ = 0;
}

Status PacketReader::read(std::span<const std::byte> packet, std::span<Message> parts,
                          net::Sink& sink) {
  frame_.parts.clear();
  std::span<const std::byte> rest = packet.subspan(1);
  while (!rest.empty() && !is_stopped_) {
    MUSTER_TRY(const std::size_t used, read_frame(rest, parts, sink));
    rest = rest.subspan(used);
  }
  if (!is_stopped_ && !parts.empty()) return invalid("a message with parts of no frame");
  return ok();
}

// How many bytes of the packet it took.
Result<std::size_t> PacketReader::read_frame(std::span<const std::byte> bytes,
                                             std::span<Message>& parts, net::Sink& sink) {
  const auto cut = [] { return invalid("a packet that ends in the middle of a frame"); };
  if (const std::size_t used = wire::read_small_frame(bytes, kOwnPart, pool_, frame_)) {
    body_bytes_ += frame_.parts[0].size();
    hand_over(sink);
    return used;
  }
  if (bytes.size() < wire::kPrefixSize) return cut();
  MUSTER_TRY(const wire::Prefix prefix, wire::read_prefix(bytes));
  const std::size_t opening = wire::prefix_size(prefix.part_count) + prefix.head_size;
  if (bytes.size() < opening) return cut();
  const std::size_t sizes = wire::kPartSizeSize * prefix.part_count;
  MUSTER_TRY_OK(check_sizes(bytes.subspan(wire::kPrefixSize, sizes)));
  if (bytes.size() - opening < small_) return cut();
  frame_.head.assign(bytes.subspan(wire::kPrefixSize + sizes, prefix.head_size));
  MUSTER_TRY_OK(fill(bytes.subspan(opening, small_), parts, sink));
  hand_over(sink);
  return opening + small_;
}

void PacketReader::hand_over(net::Sink& sink) {
  ++frames_;
  sink.on_frame(frame_);
  frame_.parts.clear();
}

Status PacketReader::check_sizes(std::span<const std::byte> sizes) {
  sizes_.clear();
  small_ = 0;
  aligned_ = 0;
  std::uint64_t body = 0;
  for (; !sizes.empty(); sizes = sizes.subspan(wire::kPartSizeSize)) {
    MUSTER_TRY(const std::uint64_t size, wire::read_part_size(sizes));
    body += size;
    if (body > kMaxBody) {
      return invalid("a frame with a body of " + std::to_string(body) + " bytes or more, at most " +
                     std::to_string(kMaxBody) + " may come");
    }
    sizes_.push_back(size);
    if (size < kOwnPart) {
      small_ += size;
      aligned_ += aligned(size);
    }
  }
  body_bytes_ += body;
  return ok();
}

Status PacketReader::fill(std::span<const std::byte> small, std::span<Message>& parts,
                          net::Sink& sink) {
  frame_.parts.clear();
  Buffer block;
  WritableBuffer memory;
  if (small_ > 0) {
    memory = pool_.take(aligned_);
    if (memory.size() < aligned_) {
      return Error(Code::overloaded, "no memory for a frame that comes in");
    }
  }
  std::byte* to = memory.data();
  std::size_t from = 0;
  for (const std::size_t size : sizes_) {
    if (size >= kOwnPart || size == 0) continue;
    std::memcpy(to, small.data() + from, size);
    from += size;
    to += aligned(size);
  }
  if (small_ > 0) block = std::move(memory).freeze();
  std::size_t at = 0;
  for (std::size_t index = 0; index < sizes_.size(); ++index) {
    const std::size_t size = sizes_[index];
    if (size < kOwnPart) {
      frame_.parts.push_back(size == 0 ? Buffer() : block.slice(at, size));
      at += aligned(size);
      continue;
    }
    if (parts.empty() || parts.front().size() != size) {
      return invalid("a message whose parts are not those that its frames tell of");
    }
    MUSTER_TRY(Buffer part, take_part(index, parts.front(), sink));
    frame_.parts.push_back(std::move(part));
    parts = parts.subspan(1);
  }
  return ok();
}

// As it lies, unless the sink wants it elsewhere.
Result<Buffer> PacketReader::take_part(std::size_t index, Message& part, net::Sink& sink) {
  if (part.size() >= net::kLargePart) {
    WritableBuffer place = sink.place(frame_.head, index, part.size());
    if (is_stopped_) return Error(Code::cancelled, "the sink wants no more");
    if (place.size() == part.size()) {
      std::memcpy(place.data(), part.bytes().data(), part.size());
      return std::move(place).freeze();
    }
  }
  return std::move(part).into_buffer();
}

}  // namespace muster::drivers::zmq
