#include "muster/net/transfer.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "muster/net/invalid.h"
#include "muster/wire/bytes.h"

namespace muster::net {
namespace {

// In the list of sizes, beside a part that rides along.
constexpr std::uint64_t kRides = std::uint64_t{1} << 63;

}  // namespace

OutgoingTransfer::OutgoingTransfer(std::uint64_t id, const wire::Parts& parts,
                                   std::size_t chunk_size,
                                   const std::function<bool(std::size_t)>& passes)
    : id_(id), chunk_size_(chunk_size) {
  std::size_t riding = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (passes(i)) continue;
    if (parts[i].size() <= kRidingPart && riding + parts[i].size() <= kRidingParts) {
      riding += parts[i].size();
    } else {
      bulk_.push_back(static_cast<std::uint32_t>(i));
      bytes_ += parts[i].size();
    }
  }
}

void OutgoingTransfer::pause_before_end() { pause_ = bytes_ - std::min(bytes_, kCopiedEnd); }

wire::Parts OutgoingTransfer::offer(const wire::Parts& parts) const {
  std::vector<std::byte> sizes(parts.size() * sizeof(std::uint64_t));
  wire::Parts offered;
  offered.push_back(Buffer());
  std::size_t bulk = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool rides = bulk == bulk_.size() || bulk_[bulk] != i;
    wire::store<std::uint64_t>(sizes.data() + 8 * i, parts[i].size() | (rides ? kRides : 0));
    if (rides) {
      offered.push_back(parts[i]);
    } else {
      ++bulk;
    }
  }
  offered[0] = Buffer::adopt(std::move(sizes));
  return offered;
}

OutgoingTransfer::Chunk OutgoingTransfer::peek(const wire::Parts& parts) const {
  const std::uint32_t part = bulk_[at_];
  const std::span<const std::byte> rest = parts[part].bytes().subspan(offset_);
  std::size_t size = std::min(rest.size(), chunk_size_);
  if (is_before_pause()) size = std::min<std::uint64_t>(size, pause_ - done_);
  return {part, offset_, rest.first(size)};
}

void OutgoingTransfer::advance(const Chunk& chunk, const wire::Parts& parts) {
  offset_ += chunk.bytes.size();
  done_ += chunk.bytes.size();
  if (offset_ < parts[chunk.part].size()) return;
  offset_ = 0;
  ++at_;
}

Result<IncomingTransfer> IncomingTransfer::read(std::uint64_t id, wire::Parts parts,
                                                std::uint64_t max_body) {
  if (parts.empty()) return invalid("an offer without sizes");
  const std::span<const std::byte> sizes = parts[0].bytes();
  const std::size_t count = sizes.size() / sizeof(std::uint64_t);
  if (count == 0 || count > wire::kMaxParts || sizes.size() % sizeof(std::uint64_t) != 0) {
    return invalid(fmt::format("an offer whose list of sizes has {} bytes", sizes.size()));
  }
  IncomingTransfer made;
  made.id_ = id;
  made.pieces_.resize(count);
  std::uint64_t sum = 0;
  std::size_t next = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto said = wire::load<std::uint64_t>(sizes.data() + 8 * i);
    Piece& piece = made.pieces_[i];
    piece.rides = (said & kRides) != 0;
    piece.size = said & ~kRides;
    // Each is at most max_body, so that the sum cannot wrap.
    if (piece.size > max_body || (sum += piece.size) > max_body) {
      return invalid(fmt::format("an offer above the limit of {} bytes", max_body));
    }
    if (!piece.rides) {
      if (piece.size == 0) return invalid("an offer of an empty part");
      made.bytes_ += piece.size;
      continue;
    }
    if (next == parts.size() || parts[next].size() != piece.size) {
      return invalid("an offer whose parts are not those of its list");
    }
    piece.whole = std::move(parts[next++]);
  }
  if (next != parts.size()) return invalid("an offer with parts that its list does not name");
  if (made.bytes_ == 0) return invalid("an offer of nothing");
  made.skip_finished();
  return made;
}

Status IncomingTransfer::allocate(const Allocate& find) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (piece.rides) continue;
    piece.memory = find(i, piece.size);
    if (piece.memory.size() >= piece.size) continue;
    for (Piece& other : pieces_) other.memory = WritableBuffer();
    return Error(Code::overloaded, fmt::format("no memory for {} bytes", piece.size));
  }
  is_granted_ = true;
  return ok();
}

WritableBuffer IncomingTransfer::place(std::size_t part, std::uint64_t offset,
                                       std::uint64_t size) const {
  if (!is_granted_ || part >= pieces_.size() || pieces_[part].rides) return {};
  const Piece& piece = pieces_[part];
  // Nor must a second chunk write over what the first has brought.
  const bool is_behind = part < at_ || (part == at_ && offset < offset_);
  if (is_behind || offset > piece.size || size > piece.size - offset) return {};
  BufferOwner* const owner = piece.memory.owner();
  if (owner != nullptr) owner->retain();
  return {piece.memory.bytes().subspan(offset, size), owner};
}

Status IncomingTransfer::accept(std::size_t part, std::uint64_t offset, const Buffer& bytes) {
  if (!is_granted_) return invalid("a chunk before its transfer was granted");
  if (is_whole() || part != at_ || offset != offset_ || bytes.empty() ||
      bytes.size() > pieces_[at_].size - offset_) {
    return invalid(
        fmt::format("a chunk of {} bytes for part {} at {}, which does not follow the last",
                    bytes.size(), part, offset));
  }
  std::byte* const to = pieces_[at_].memory.data() + offset_;
  if (to != bytes.data()) std::memcpy(to, bytes.data(), bytes.size());
  offset_ += bytes.size();
  received_ += bytes.size();
  if (offset_ == pieces_[at_].size) {
    ++at_;
    offset_ = 0;
    skip_finished();
  }
  return ok();
}

void IncomingTransfer::skip_finished() {
  while (at_ < pieces_.size() && pieces_[at_].rides) ++at_;
}

wire::Parts IncomingTransfer::take() {
  wire::Parts parts;
  for (Piece& piece : pieces_) {
    parts.push_back(piece.rides ? std::move(piece.whole)
                                : std::move(piece.memory).freeze(piece.size));
  }
  return parts;
}

}  // namespace muster::net
