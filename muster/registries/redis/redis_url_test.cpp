#include <gtest/gtest.h>

#include "muster/registries/redis/redis.h"

namespace muster::registries {
namespace {

TEST(RedisUrl, SaysWhereAndWho) {
  const RedisOptions plain = *RedisOptions::parse("redis://h");
  EXPECT_EQ(plain.host, "h");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_FALSE(plain.tls.is_on);
  const RedisOptions full = *RedisOptions::parse("rediss://me:p%40ss%3A@[::1]:7000/3");
  EXPECT_EQ(full.host, "::1");
  EXPECT_EQ(full.port, 7000);
  EXPECT_EQ(full.username, "me");
  EXPECT_EQ(full.password, "p@ss:");
  EXPECT_EQ(full.database, 3);
  EXPECT_TRUE(full.tls.is_on);
  const RedisOptions password = *RedisOptions::parse("redis://:secret@h/");
  EXPECT_EQ(password.username, "");
  EXPECT_EQ(password.password, "secret");
  EXPECT_EQ(password.database, 0);
}

TEST(RedisUrl, ThatIsNoneIsRefusedWithoutTellingThePassword) {
  for (const char* const url :
       {"", "http://h", "redis://", "redis://:secret@", "redis://:secret@h:0",
        "redis://:secret@h:99999", "redis://:secret@h:7x", "redis://:secret@h/x",
        "redis://:secret%4@h", "redis://:secret@[::1", "redis://:secret@[::1]7",
        "redis://:secret@h?x=1"}) {
    const Result<RedisOptions> options = RedisOptions::parse(url);
    ASSERT_FALSE(options) << url;
    EXPECT_EQ(options.error().code(), Code::invalid);
    EXPECT_EQ(options.error().message().find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::registries
