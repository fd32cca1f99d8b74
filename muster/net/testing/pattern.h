// Bytes that tell where they belong, and frames made of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/buffer.h"
#include "muster/wire/frame.h"

namespace muster::net::testing {

// Writes the bytes that stand from `offset` on in the pattern of `seed`. It
// repeats after a prime number of bytes, so that no chunk can stand in for another.
void fill(std::span<std::byte> bytes, std::uint64_t seed, std::uint64_t offset = 0);
bool matches(std::span<const std::byte> bytes, std::uint64_t seed, std::uint64_t offset = 0);
Buffer pattern(std::size_t size, std::uint64_t seed, std::uint64_t offset = 0);

// What a frame looks like: the sizes of its head and parts.
struct Shape {
  std::size_t head = 0;
  std::vector<std::size_t> parts;
};

// A frame of that shape, its content all from `seed`.
wire::Frame make_frame(const Shape& shape, std::uint64_t seed);
::testing::AssertionResult is_frame(const wire::Frame& frame, const Shape& shape,
                                    std::uint64_t seed);

// The shape of frame `index` in a mixed conversation: heads of 0 to 128 bytes,
// 0 to 64 parts, most of them small and a few just large enough to be placed.
// What every driver takes in one frame.
Shape mixed_shape(std::uint64_t index);
// One part of 8 KiB, and heads of all sizes.
Shape page_shape(std::uint64_t index);
// As many of `parts` as fit into one frame, the first that do.
Shape shape_within(std::size_t max_body, std::size_t head, const std::vector<std::size_t>& parts);
// What `frame` looks like.
Shape shape_of(const wire::Frame& frame);

// 0, and the powers of two, which all internal thresholds are, up to `limit`
// with their neighbours.
std::vector<std::size_t> sizes_up_to(std::size_t limit);

// Chance that is the same in every run: splitmix64 of `number`.
std::uint64_t scramble(std::uint64_t number);

}  // namespace muster::net::testing
