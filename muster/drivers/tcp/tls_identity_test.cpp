#include "muster/drivers/tcp/tls_identity.h"

#include <gtest/gtest.h>

namespace muster::drivers::tcp {
namespace {

constexpr TlsIdentity kSample{12, {0x0123456789abcdef, 0xf}};

TEST(TlsIdentity, NamesGenerationRoleAndSender) {
  EXPECT_EQ(kSample.to_text(), "muster 1 client g12 0123456789abcdef000000000000000f");
  EXPECT_EQ(TlsIdentity::parse(kSample.to_text()), kSample);
}

TEST(TlsIdentity, OfAnotherFormOrRoleIsNone) {
  const std::string text = kSample.to_text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(TlsIdentity::parse(text.substr(0, size))) << size;
  }
  for (const char* other : {"muster 1 server g12 0123456789abcdef000000000000000f",
                            "muster 2 client g12 0123456789abcdef000000000000000f",
                            "muster 1 client g012 0123456789abcdef000000000000000f",
                            "muster 1 client g-1 0123456789abcdef000000000000000f",
                            "muster 1 client g4294967296 0123456789abcdef000000000000000f",
                            "muster 1 client g12 0123456789ABCDEF000000000000000f",
                            "muster 1 client g12 0123456789abcdef000000000000000f "}) {
    EXPECT_FALSE(TlsIdentity::parse(other)) << other;
  }
}

TEST(TlsIdentity, KeysOfTwoTokensDifferAndAreNotTheToken) {
  const net::Token one{1, std::vector<std::byte>(32, std::byte{1})};
  const net::Token two{1, std::vector<std::byte>(32, std::byte{2})};

  EXPECT_NE(tls_key(one), tls_key(two));
  EXPECT_FALSE(net::is_same(tls_key(one), one.secret));
}

}  // namespace
}  // namespace muster::drivers::tcp
