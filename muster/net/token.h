// The token: the secret that all members of a cluster know, and no one else.
//
// It is replaced from time to time. Each that follows has the next generation,
// a number that is no secret.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/id.h"
#include "muster/base/result.h"

namespace muster::net {

// Bytes of a token that we make.
inline constexpr std::size_t kTokenSize = 32;
// Fewer are refused from others.
inline constexpr std::size_t kMinToken = 16;

struct Token {
  std::uint32_t generation = 0;
  std::vector<std::byte> secret;

  // 256 bits from the kernel, unless told otherwise.
  static Token random(std::uint32_t generation,
                      const std::function<std::uint64_t()>& bits = random_bits);

  // What reveal() gives, with white space around it. Code::invalid says what is
  // wrong, and nothing of the text itself.
  static Result<Token> parse(std::string_view text);

  // Whether whoever reads `text` may learn of a token from it, whole or not.
  static bool is_like(std::string_view text);

  // The text form, with a checksum: whoever sees it is a member. Not for logs,
  // errors or command lines.
  std::string reveal() const;

  // Tells two tokens apart without telling anything of them: 8 digits.
  std::string fingerprint() const;

  friend bool operator==(const Token&, const Token&) = default;
};

// Tests print what they compare; this prints the generation and the fingerprint.
void PrintTo(const Token& token, std::ostream* out);  // NOLINT(readability-identifier-naming)

}  // namespace muster::net
