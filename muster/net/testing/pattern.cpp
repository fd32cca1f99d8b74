#include "muster/net/testing/pattern.h"

#include <algorithm>
#include <cstring>

#include "muster/net/driver.h"

namespace muster::net::testing {
namespace {

constexpr std::size_t kPeriod = 1'048'583;  // A prime.

const std::vector<std::byte>& table() {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> made(kPeriod);
    for (std::size_t i = 0; i < kPeriod; i += sizeof(std::uint64_t)) {
      const std::uint64_t word = scramble(i);
      std::memcpy(&made[i], &word, std::min(sizeof word, kPeriod - i));
    }
    return made;
  }();
  return bytes;
}

// Calls `piece(position, of_pattern)` for each run of the pattern in `size` bytes.
template <class Piece>
void for_each_piece(std::size_t size, std::uint64_t seed, std::uint64_t offset, Piece piece) {
  std::size_t at = (scramble(seed) % kPeriod + offset) % kPeriod;
  for (std::size_t done = 0; done < size; at = 0) {
    const std::size_t count = std::min(size - done, kPeriod - at);
    piece(done, std::span(table()).subspan(at, count));
    done += count;
  }
}

std::uint64_t part_seed(std::uint64_t seed, std::size_t part) { return seed * 4099 + part + 1; }

}  // namespace

std::uint64_t scramble(std::uint64_t number) {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

void fill(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t offset) {
  for_each_piece(bytes.size(), seed, offset, [&](std::size_t at, std::span<const std::byte> from) {
    std::memcpy(bytes.data() + at, from.data(), from.size());
  });
}

bool matches(std::span<const std::byte> bytes, std::uint64_t seed, std::uint64_t offset) {
  bool same = true;
  for_each_piece(bytes.size(), seed, offset, [&](std::size_t at, std::span<const std::byte> from) {
    same = same && std::memcmp(bytes.data() + at, from.data(), from.size()) == 0;
  });
  return same;
}

Buffer pattern(std::size_t size, std::uint64_t seed, std::uint64_t offset) {
  WritableBuffer buffer = WritableBuffer::on_heap(size);
  fill(buffer.bytes(), seed, offset);
  return std::move(buffer).freeze();
}

wire::Frame make_frame(const Shape& shape, std::uint64_t seed) {
  wire::Frame frame;
  fill(frame.head.resize(shape.head), seed);
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    frame.parts.push_back(pattern(shape.parts[i], part_seed(seed, i)));
  }
  return frame;
}

::testing::AssertionResult is_frame(const wire::Frame& frame, const Shape& shape,
                                    std::uint64_t seed) {
  const auto wrong = [&] { return ::testing::AssertionFailure() << "frame " << seed << ": "; };
  if (frame.head.size() != shape.head) {
    return wrong() << "head of " << frame.head.size() << " bytes, not " << shape.head;
  }
  if (!matches(frame.head.bytes(), seed)) return wrong() << "the head has other content";
  if (frame.parts.size() != shape.parts.size()) {
    return wrong() << frame.parts.size() << " parts, not " << shape.parts.size();
  }
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    if (frame.parts[i].size() != shape.parts[i]) {
      return wrong() << "part " << i << " of " << frame.parts[i].size() << " bytes, not "
                     << shape.parts[i];
    }
    if (!matches(frame.parts[i].bytes(), part_seed(seed, i))) {
      return wrong() << "part " << i << " has other content";
    }
  }
  return ::testing::AssertionSuccess();
}

Shape mixed_shape(std::uint64_t index) {
  std::uint64_t chance = scramble(index);
  const auto below = [&chance](std::uint64_t limit) { return (chance = scramble(chance)) % limit; };
  Shape shape;
  shape.head = below(wire::kMaxHead + 1);
  if (below(16) == 0) {
    shape.parts = {kLargePart};
    return shape;
  }
  const std::size_t parts = below(4) == 0 ? below(65) : below(4);
  for (std::size_t i = 0; i < parts; ++i) {
    shape.parts.push_back(below(parts < 4 ? kLargePart / 4 : kLargePart / 64));
  }
  return shape;
}

Shape page_shape(std::uint64_t index) {
  return {index % (wire::kMaxHead + 1), {std::size_t{8} << 10}};
}

Shape shape_within(std::size_t max_body, std::size_t head, const std::vector<std::size_t>& parts) {
  Shape shape{head, {}};
  for (const std::size_t part : parts) {
    if (part > max_body) continue;
    shape.parts.push_back(part);
    max_body -= part;
  }
  return shape;
}

Shape shape_of(const wire::Frame& frame) {
  Shape shape{frame.head.size(), {}};
  for (const Buffer& part : frame.parts) shape.parts.push_back(part.size());
  return shape;
}

std::vector<std::size_t> sizes_up_to(std::size_t limit) {
  std::vector<std::size_t> sizes = {0};
  for (std::size_t power = 1; power <= limit; power *= 2) {
    for (const std::size_t size : {power - 1, power, power + 1}) {
      if (sizes.back() < size) sizes.push_back(size);
    }
  }
  return sizes;
}

}  // namespace muster::net::testing
