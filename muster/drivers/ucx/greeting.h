// What two processes say over the control connection until UCX can carry frames.
//
//   dialer    hello   who I am, and the key of my end
//   listener  pair    the same, and the UCX worker that I have for you
//   dialer    ready   the UCX worker that I have for you
//   listener  go      yours is known here: send
//
// A listener whose worker belongs to an earlier life of the dialer's answers
// `ready` by another `pair`. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/id.h"
#include "muster/base/result.h"
#include "muster/wire/frame.h"

namespace muster::drivers::ucx {

struct Greeting {
  enum class Kind : std::uint8_t { hello = 1, pair = 2, ready = 3, go = 4 };

  Kind kind = Kind::hello;
  Id hub = {};             // Whose driver speaks.
  std::uint64_t key = 0;   // What frames to the speaker's end bear.
  std::uint64_t pair = 0;  // Which of the speaker's workers.
  Buffer worker = {};      // Its address; UCX alone knows what it means.
};

// No worker's address is longer.
inline constexpr std::size_t kMostAddress = std::size_t{60} << 10;

wire::Frame encode(const Greeting& greeting);

// Code::invalid if the frame is none, Code::unsupported if it is of another version.
Result<Greeting> decode_greeting(const wire::Frame& frame);

}  // namespace muster::drivers::ucx
