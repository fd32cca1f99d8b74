#include "muster/net/token_source.h"

#include <utility>

#include <fmt/format.h>

namespace muster::net {
namespace {

class FixedTokens final : public TokenSource {
 public:
  explicit FixedTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  std::vector<Token> accepted() override { return tokens_; }

 private:
  const std::vector<Token> tokens_;
};

}  // namespace

Result<std::shared_ptr<TokenSource>> make_fixed_tokens(std::vector<Token> tokens) {
  if (tokens.empty() || tokens.size() > kMaxGenerations) {
    return Error(Code::invalid,
                 fmt::format("{} tokens at once; 1 to {} may be", tokens.size(), kMaxGenerations));
  }
  for (const Token& token : tokens) {
    if (token.secret.size() >= kMinToken) continue;
    return Error(Code::invalid,
                 fmt::format("a token of {} bytes is too short; it needs at least {}",
                             token.secret.size(), kMinToken));
  }
  return std::shared_ptr<TokenSource>(std::make_shared<FixedTokens>(std::move(tokens)));
}

}  // namespace muster::net
