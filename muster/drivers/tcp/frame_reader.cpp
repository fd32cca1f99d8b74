#include "muster/drivers/tcp/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "muster/wire/small_frame.h"

namespace muster::drivers::tcp {
namespace {

// Parts may hold numbers of any kind.
constexpr std::size_t kAlignment = 16;
// An opening longer than this gives its memory back.
constexpr std::size_t kKeptOpening = 512;

std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace

// By far the most frames: one small part, and all of it is there. 0 if this is none
// of those; nothing has happened then.
inline std::size_t FrameReader::take_small(std::span<const std::byte> bytes, net::Sink& sink) {
  if (bytes.size() < wire::kPrefixSize) return 0;
  const bool is_brief = wire::is_brief(wire::load<std::uint64_t>(bytes.data()));
  const std::size_t used =
      is_brief ? wire::read_brief_frame(bytes, small_limit(), pool_, before_, frame_)
               : wire::read_small_frame(bytes, small_limit(), pool_, frame_);
  if (used == 0) return 0;
  if (!is_brief) before_.assign(frame_.head.bytes());
  since_large_ += static_cast<std::uint32_t>(expects_large());
  sink.on_frame(frame_);
  frame_.parts.clear();
  return used;
}

Status FrameReader::take(std::span<const std::byte> bytes, net::Sink& sink) {
  while (!bytes.empty() && !is_stopped_) {
    if (is_filling_) {
      bytes = bytes.subspan(fill(bytes));
      finish_if_full(sink);
      continue;
    }
    if (opening_.empty()) {
      if (const std::size_t used = take_small(bytes, sink); used > 0) {
        bytes = bytes.subspan(used);
        continue;
      }
    }
    MUSTER_TRY(const std::size_t used,
               opening_.empty() ? open(bytes, sink) : open_from_pieces(bytes, sink));
    bytes = bytes.subspan(used);
  }
  return ok();
}

// The usual case: prefix, sizes and head lie side by side.
Result<std::size_t> FrameReader::open(std::span<const std::byte> bytes, net::Sink& sink) {
  if (bytes.size() < wire::kPrefixSize) return open_from_pieces(bytes, sink);
  MUSTER_TRY(const std::size_t whole, opening_size(bytes.data()));
  if (bytes.size() < whole) return open_from_pieces(bytes, sink);
  MUSTER_TRY_OK(begin(bytes.data(), sink));
  return whole;
}

// How many bytes stand before the parts of a frame that begins with `first`.
Result<std::size_t> FrameReader::opening_size(const std::byte* first) const {
  if (const auto word = wire::load<std::uint64_t>(first); wire::is_brief(word)) {
    const wire::Brief brief = wire::read_brief(word);
    if (brief.fits(before_, small_limit())) return brief.opening();
    return Error(Code::invalid, "a brief frame that does not fit the one before it");
  }
  MUSTER_TRY(const wire::Prefix prefix, wire::read_prefix({first, wire::kPrefixSize}));
  return wire::prefix_size(prefix.part_count) + prefix.head_size;
}

Result<std::size_t> FrameReader::open_from_pieces(std::span<const std::byte> bytes,
                                                  net::Sink& sink) {
  std::size_t used = 0;
  const auto gather_up_to = [&](std::size_t size) {
    const std::size_t more = std::min(size - opening_.size(), bytes.size() - used);
    opening_.insert(opening_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(used),
                    bytes.begin() + static_cast<std::ptrdiff_t>(used + more));
    used += more;
    return opening_.size() == size;
  };
  if (opening_.size() < wire::kPrefixSize && !gather_up_to(wire::kPrefixSize)) return used;
  MUSTER_TRY(const std::size_t whole, opening_size(opening_.data()));
  if (!gather_up_to(whole)) return used;
  MUSTER_TRY_OK(begin(opening_.data(), sink));
  opening_.clear();
  if (opening_.capacity() > kKeptOpening) opening_.shrink_to_fit();
  return used;
}

// All before the parts is there, and opening_size() has found no fault.
Status FrameReader::begin(const std::byte* opening, net::Sink& sink) {
  if (const auto first = wire::load<std::uint64_t>(opening); wire::is_brief(first)) {
    begin_brief(wire::read_brief(first), opening + wire::kBriefFixed);
  } else {
    MUSTER_TRY(const wire::Prefix prefix, wire::read_prefix({opening, wire::kPrefixSize}));
    const std::size_t sizes = wire::kPartSizeSize * prefix.part_count;
    MUSTER_TRY_OK(check_sizes({opening + wire::kPrefixSize, sizes}));
    before_.assign({opening + wire::kPrefixSize + sizes, prefix.head_size});
  }
  frame_.head.assign(before_.bytes());
  MUSTER_TRY_OK(find_memory(sink));
  target_ = 0;
  is_filling_ = true;
  finish_if_full(sink);
  return ok();
}

void FrameReader::begin_brief(const wire::Brief& brief, const std::byte* words) {
  wire::change_words(brief.changed, words, before_);
  targets_.assign(1, {static_cast<std::byte*>(nullptr), brief.size});
  small_ = aligned(brief.size);
  is_large_ = false;
}

// Notes each part's size in `targets_`, whose memory is found later.
Status FrameReader::check_sizes(std::span<const std::byte> sizes) {
  targets_.clear();
  small_ = 0;
  is_large_ = false;
  std::uint64_t body = 0;
  for (; !sizes.empty(); sizes = sizes.subspan(wire::kPartSizeSize)) {
    MUSTER_TRY(const std::uint64_t size, wire::read_part_size(sizes));
    body += size;
    if (body > max_body_) {
      return Error(Code::invalid, "a frame with a body of " + std::to_string(body) +
                                      " bytes or more, at most " + std::to_string(max_body_) +
                                      " may come");
    }
    targets_.emplace_back(static_cast<std::byte*>(nullptr), size);
    if (size >= net::kLargePart) {
      is_large_ = true;
    } else {
      small_ += aligned(size);
    }
  }
  return ok();
}

Status FrameReader::find_memory(net::Sink& sink) {
  const auto no_memory = [] {
    return Error(Code::overloaded, "no memory for a frame that comes in");
  };
  WritableBuffer block;
  if (small_ > 0) {
    block = pool_.take(small_);
    if (block.size() < small_) return no_memory();
  }
  std::size_t used = 0;
  for (std::size_t part = 0; part < targets_.size(); ++part) {
    std::span<std::byte>& target = targets_[part];
    if (target.empty()) {
      frame_.parts.push_back(Buffer());
    } else if (target.size() < net::kLargePart) {
      target = block.bytes().subspan(used, target.size());
      used += aligned(target.size());
      block.owner()->retain();
      frame_.parts.push_back(Buffer(target, block.owner()));
    } else {
      WritableBuffer placed = sink.place(frame_.head, part, target.size());
      if (placed.size() != target.size()) placed = pool_.take(target.size());
      if (placed.size() != target.size()) return no_memory();
      target = placed.bytes();
      frame_.parts.push_back(std::move(placed).freeze());
    }
  }
  is_lent_ = is_large_ && sink.is_lent(frame_.head);
  return ok();
}

std::size_t FrameReader::fill(std::span<const std::byte> bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && target_ < targets_.size()) {
    std::span<std::byte>& target = targets_[target_];
    const std::size_t count = std::min(target.size(), bytes.size() - used);
    if (count > 0) std::memcpy(target.data(), bytes.data() + used, count);
    used += count;
    target = target.subspan(count);
    if (target.empty()) ++target_;
  }
  return used;
}

void FrameReader::finish_if_full(net::Sink& sink) {
  while (target_ < targets_.size() && targets_[target_].empty()) ++target_;
  if (target_ < targets_.size()) return;
  is_filling_ = false;
  since_large_ = is_large_ ? 0 : since_large_ + static_cast<std::uint32_t>(expects_large());
  sink.on_frame(frame_);
  frame_.parts.clear();
}

std::span<std::byte> FrameReader::wanted() const {
  if (!is_filling_ || is_stopped_) return {};
  if (frame_.parts[target_].size() < net::kLargePart) return {};
  return targets_[target_];
}

void FrameReader::put(std::size_t bytes, net::Sink& sink) {
  targets_[target_] = targets_[target_].subspan(bytes);
  finish_if_full(sink);
}

}  // namespace muster::drivers::tcp
