// Value documents: a Value as a MessagePack tree, with its large parts beside it.
//
// docs/reference/wire.md has the bytes. Pure: no socket, no clock, no thread.

#pragma once

#include <cstddef>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/wire/frame.h"
#include "muster/wire/value.h"

namespace muster::wire {

// What a document may ask of its reader. Each is checked before memory is taken
// for what the document claims; a claim that the bytes at hand cannot meet is
// refused before that, whatever the limits.
struct Limits {
  std::size_t max_depth = 64;  // Lists and maps inside each other; each takes stack.
  std::size_t max_values = std::size_t{1} << 22;   // In all; a map's keys count too.
  std::size_t max_bytes = std::size_t{256} << 20;  // Of the tree. Parts have the frame's limits.
  std::size_t max_parts = kMaxParts - 1;           // The frame's last one is left to the tree.
};

struct EncodeOptions {
  // Byte strings of at least this size become parts. Should the document have
  // too many parts then, all of its byte strings stay in the tree.
  std::size_t out_of_band_from = 4096;
  Limits limits = {};
};

struct Document {
  Buffer tree;
  Parts parts;  // The very buffers of the Value, not copies.
};

// Code::invalid if `value` is outside the limits, has a string that is not UTF-8
// or a tensor whose bytes do not fit its shape. Otherwise decode() with the same
// limits gives an equal Value.
Result<Document> encode(const Value& value, const EncodeOptions& options = {});

// Code::invalid, with the place and the reason, if these are not one whole
// document and exactly its parts; Code::unsupported for a MessagePack extension
// that is not Muster's.
//
// `tree` must not change any more. Byte strings of the result share its memory,
// and keep all of it alive. The content of `parts` is not looked at, so it may
// still change under the reader's eyes.
Result<Value> decode(const Buffer& tree, std::span<const Buffer> parts, const Limits& limits = {});

}  // namespace muster::wire
