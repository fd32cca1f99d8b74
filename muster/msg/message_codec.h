// A message's body as the parts of its frame, and back. Pure.
//
// Encoding happens once however many receivers there are: parts are shared.
// Byte strings and tensors are never copied; docs/reference/wire.md has the form.

#pragma once

#include <cstdint>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/msg/message_head.h"
#include "muster/wire/frame.h"
#include "muster/wire/value_codec.h"

namespace muster::msg {

struct BodyLimits {
  wire::Limits values = {};
  // What all compressed parts of one body may grow to.
  std::uint64_t max_decompressed = std::uint64_t{1} << 30;
};

struct EncodedBody {
  BodyForm form = BodyForm::none;
  Compression compression = Compression::none;
  wire::Parts parts;
};

// Code::invalid if the value cannot be written. What compression does not make
// smaller goes as it is.
Result<EncodedBody> encode_body(const wire::Value& body, Compression compression = {},
                                const BodyLimits& limits = {});
// The same into `encoded`, which must be empty and is of no use if there is an error.
Status encode_body(const wire::Value& body, Compression compression, const BodyLimits& limits,
                   EncodedBody& encoded);

// Nothing that came is trusted: Code::invalid, with the reason; every size is
// checked before memory is taken for it.
Result<wire::Value> decode_body(BodyForm form, Compression compression,
                                std::span<const Buffer> parts, const BodyLimits& limits = {});

// For who encodes and decodes by other means: the parts made smaller where that
// helps, and back. The same checks as decode_body()'s.
void compress_body(EncodedBody& body, Compression compression);
Result<EncodedBody> expand_body(const EncodedBody& body, const BodyLimits& limits = {});

// An error as a body, and back. What is no error reads as Code::internal.
wire::Value error_to_value(const Error& error);
Error value_to_error(const wire::Value& value);

}  // namespace muster::msg
