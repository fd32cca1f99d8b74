#include "muster/net/token.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "muster/net/token_source.h"

namespace muster::net {
namespace {

// The same each time.
Token sample(std::uint32_t generation = 7) {
  std::uint64_t next = 0x0123456789abcdef;
  return Token::random(generation, [&next] { return next *= 0x9e3779b97f4a7c15; });
}

TEST(Token, HasTwoHundredAndFiftySixBitsAndNoTwoAreAlike) {
  const Token one = Token::random(1);
  const Token two = Token::random(1);

  EXPECT_EQ(one.secret.size() * 8, 256U);
  EXPECT_NE(one, two);
  EXPECT_NE(one.fingerprint(), two.fingerprint());
}

TEST(Token, ItsTextIsReadBackWhateverTheSpaceAroundIt) {
  for (const std::uint32_t generation : {0U, 1U, 4'000'000'000U}) {
    const Token token = sample(generation);
    const Result<Token> read = Token::parse(" \t" + token.reveal() + "\r\n");
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(*read, token);
  }
}

TEST(Token, ATextWithAnyLetterChangedOrCutOffIsRefused) {
  const std::string text = sample().reveal();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] = wrong[at] == '3' ? '4' : '3';
    EXPECT_FALSE(Token::parse(wrong)) << at;
    EXPECT_FALSE(Token::parse(text.substr(0, at))) << at;
  }
  EXPECT_FALSE(Token::parse(text + "0"));
}

TEST(Token, NothingOfItStandsInAnErrorOrInWhatATestPrints) {
  const Token token = sample();
  std::string text = token.reveal();
  const std::string digits = text.substr(text.find("7-") + 2, 12);
  text.back() = text.back() == '0' ? '1' : '0';

  std::ostringstream printed;
  PrintTo(token, &printed);

  EXPECT_EQ(Token::parse(text).error().message().find(digits), std::string::npos);
  EXPECT_EQ(printed.str().find(digits), std::string::npos);
  EXPECT_EQ(digits.find(token.fingerprint()), std::string::npos);
}

TEST(Token, FixedTokensAreCheckedOnce) {
  EXPECT_FALSE(make_fixed_tokens({}));
  EXPECT_FALSE(make_fixed_tokens({{1, std::vector<std::byte>(kMinToken - 1)}}));
  EXPECT_FALSE(make_fixed_tokens(std::vector<Token>(kMaxGenerations + 1, sample())));
  EXPECT_EQ((*make_fixed_tokens({sample(2), sample(1)}))->accepted().size(), 2U);
}

}  // namespace
}  // namespace muster::net
