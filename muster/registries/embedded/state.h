// The directory's state as bytes, for the file that outlives a serving process.
// docs/reference/registries.md has them. Pure.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muster/registries/embedded/directory.h"

namespace muster::registries::embedded {

// A longer file is not ours.
inline constexpr std::size_t kMaxState = std::size_t{64} << 20;

std::vector<std::byte> encode_state(const DirectoryState& state);

// Code::invalid for what is no such file, or names one member twice.
Result<DirectoryState> decode_state(std::span<const std::byte> bytes);

}  // namespace muster::registries::embedded
