// Compressed parts: zstd for size, lz4 for speed. Pure.

#pragma once

#include <cstdint>
#include <optional>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/msg/message_head.h"

namespace muster::msg {

// `part`, compressed; nothing where that would save less than an eighth.
std::optional<Buffer> compress(Compression how, const Buffer& part);

// The `size` bytes that `part` stands for. The caller has checked that so many
// are allowed. Code::invalid if they are not exactly as many, or if so few
// bytes cannot stand for so many, before anything is allocated.
Result<Buffer> decompress(Compression how, const Buffer& part, std::uint64_t size);

}  // namespace muster::msg
