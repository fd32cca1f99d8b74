#include "muster/net/token_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "muster/base/log.h"
#include "muster/net/token_search.h"

namespace muster::net {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// A folder of its own, gone afterwards.
class TokenFileTest : public ::testing::Test {
 protected:
  TokenFileTest() {
    std::string name = ::testing::TempDir() + "muster-token-XXXXXX";
    folder = mkdtemp(name.data());
    path = folder + "/config/muster/token";
  }
  ~TokenFileTest() override { std::filesystem::remove_all(folder); }

  static int mode(const std::string& of) {
    struct stat about{};
    EXPECT_EQ(stat(of.c_str(), &about), 0) << of;
    return about.st_mode & 0777;
  }
  void write(const std::string& text, int permissions = 0600) const {
    std::filesystem::create_directories(folder + "/config/muster");
    std::ofstream(path) << text;
    chmod(path.c_str(), static_cast<mode_t>(permissions));
  }
  Environment environment(std::map<std::string, std::string> values) const {
    return [values = std::move(values)](const char* name) -> std::optional<std::string> {
      const auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
  }

  std::string folder;
  std::string path;
};
using TokenList_ = TokenFileTest;
using TokenFile = TokenFileTest;
using TokenSearch = TokenFileTest;

TEST_F(TokenFile, IsMadeOnFirstUseForItsOwnerOnly) {
  const mode_t before = umask(0);
  const Result<TokenList> made = read_or_make_token_file(path);
  umask(before);

  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->front().token.generation, 1U);
  EXPECT_EQ(mode(path), 0600);
  EXPECT_EQ(mode(folder + "/config/muster"), 0700);
  EXPECT_EQ(*read_or_make_token_file(path), *made);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder + "/config/muster"), {}), 1)
      << "a draft was left behind";
}

TEST_F(TokenFile, ManyWhoMakeItAtOnceAllHaveTheSameToken) {
  std::vector<std::thread> users;
  std::vector<std::string> got(8);
  for (std::string& token : got) {
    users.emplace_back([&] { token = read_or_make_token_file(path)->front().token.reveal(); });
  }
  for (std::thread& user : users) user.join();

  EXPECT_EQ(std::set(got.begin(), got.end()).size(), 1U);
}

TEST_F(TokenFile, ThatOthersMayReadIsRefused) {
  const std::string text = reveal_token_list({{Token::random(1)}});
  for (const int permissions : {0640, 0604, 0620, 0666}) {
    write(text, permissions);
    const Result<TokenList> read = read_or_make_token_file(path);
    ASSERT_FALSE(read) << permissions;
    EXPECT_EQ(read.error().code(), Code::invalid);
    EXPECT_NE(read.error().message().find("chmod 600"), std::string::npos);
  }
  for (const int permissions : {0600, 0400}) {
    write(text, permissions);
    EXPECT_TRUE(read_token_file(path)) << permissions;
    chmod(path.c_str(), 0600);
  }
}

TEST_F(TokenFile, IsNotMadeInAFolderThatOthersMayWriteTo) {
  std::filesystem::create_directories(folder + "/config/muster");
  chmod((folder + "/config/muster").c_str(), 0777);

  EXPECT_EQ(read_or_make_token_file(path).error().code(), Code::invalid);
}

TEST_F(TokenFile, ThatIsNoneIsRefusedWithoutShowingWhatIsInIt) {
  const std::string secret = Token::random(3).reveal();
  for (const std::string& text :
       {std::string(), std::string("hunter2\n"), secret + "x\n", secret + "  until soon\n",
        secret + "  until 5\n", secret + "\n" + secret + "  until 5\n", std::string(10'000, 'x')}) {
    write(text);
    const Result<TokenList> read = read_token_file(path);
    ASSERT_FALSE(read) << text.size();
    EXPECT_EQ(read.error().message().find("hunter2"), std::string::npos);
    EXPECT_EQ(read.error().message().find(secret.substr(15, 10)), std::string::npos);
  }
  EXPECT_EQ(read_token_file(folder).error().code(), Code::invalid);
  EXPECT_EQ(read_token_file(folder + "/none").error().code(), Code::not_found);
}

TEST_F(TokenFile, RotationKeepsTheOldGenerationForAStatedTime) {
  const Token first = read_or_make_token_file(path)->front().token;

  const Result<TokenList> rotated = rotate_token_file(path, hours(1), 1000);

  ASSERT_TRUE(rotated) << rotated.error().describe();
  EXPECT_EQ(*read_token_file(path), *rotated);
  EXPECT_EQ(mode(path), 0600);
  const Token second = rotated->front().token;
  EXPECT_EQ(second.generation, 2U);
  EXPECT_NE(second.secret, first.secret);
  EXPECT_EQ(accepted_at(*rotated, 1000 + 3599), (std::vector{second, first}));
  EXPECT_EQ(accepted_at(*rotated, 1000 + 3600), std::vector{second});
}

TEST_F(TokenFile, RotationWithoutGraceForgetsTheOldAtOnce) {
  ASSERT_TRUE(read_or_make_token_file(path));
  EXPECT_EQ(rotate_token_file(path, seconds(0))->size(), 1U);
}

TEST_F(TokenFile, RotationGoesToWhereALinkLeads) {
  const std::string other = folder + "/shared/token";
  ASSERT_TRUE(read_or_make_token_file(other));
  std::filesystem::create_directories(folder + "/config/muster");
  std::filesystem::create_symlink(other, path);

  const Result<TokenList> rotated = rotate_token_file(path, hours(1));

  ASSERT_TRUE(rotated) << rotated.error().describe();
  EXPECT_EQ(*read_token_file(other), *rotated) << "others read it there";
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(TokenList_, MayKeepTheOldForAsLongAsTimeCounts) {
  const TokenList list{{Token::random(1)}};
  const TokenList rotated = rotate_tokens(list, Token::random(2), 100, seconds::max());

  ASSERT_EQ(rotated.size(), 2U);
  EXPECT_EQ(*parse_token_list(reveal_token_list(rotated)), rotated);
  EXPECT_EQ(rotate_tokens(list, Token::random(2), 100, seconds(-1)).size(), 1U);
}

TEST_F(TokenList_, NeverKeepsAGenerationLongerThanItWasPromisedNorMoreThanTheLimit) {
  TokenList list{{Token::random(1)}};
  list = rotate_tokens(list, Token::random(2), 100, seconds(50));
  list = rotate_tokens(list, Token::random(3), 120, seconds(1000));

  EXPECT_EQ(list[1].until, 1120);
  EXPECT_EQ(list[2].until, 150) << "the first was promised until then";
  for (std::uint32_t next = 4; next < 10; ++next) {
    list = rotate_tokens(list, Token::random(next), 121, seconds(1000));
    EXPECT_LE(list.size(), kMaxGenerations);
    EXPECT_EQ(*parse_token_list(reveal_token_list(list)), list);
  }
}

TEST_F(TokenFile, ASourceTakesUpAReplacedFileAndDropsTheOldOneInTime) {
  ASSERT_TRUE(read_or_make_token_file(path));
  UnixTime now = 5000;
  const auto source = *make_token_file_source(path, [&now] { return now; });
  const std::vector<Token> before = source->accepted();

  ASSERT_TRUE(rotate_token_file(path, seconds(60), now));
  const std::vector<Token> during = source->accepted();
  now += 60;
  const std::vector<Token> after = source->accepted();

  ASSERT_EQ(during.size(), 2U);
  EXPECT_EQ(during[1], before[0]);
  EXPECT_EQ(after, std::vector{during[0]});
}

TEST_F(TokenFile, ASourceWhoseFileIsSpoiltGoesOnWithWhatItKnows) {
  std::vector<std::string> lines;
  log::to(log::Level::warning,
          [&](log::Level, std::string_view line) { lines.emplace_back(line); });
  ASSERT_TRUE(read_or_make_token_file(path));
  const auto source = *make_token_file_source(path, [] { return UnixTime{5}; });
  const std::vector<Token> before = source->accepted();

  std::filesystem::remove(path);
  EXPECT_EQ(source->accepted(), before);
  EXPECT_EQ(source->accepted(), before);
  log::to(log::Level::off, nullptr);

  EXPECT_EQ(lines.size(), 1U) << "one line, whatever the number of those who ask";
}

TEST_F(TokenSearch, AnOptionGoesBeforeTheEnvironmentAndThatBeforeTheUsersFile) {
  const Token given = Token::random(5);
  const Token in_environment = Token::random(6);
  const auto all = environment({{"MUSTER_TOKEN", in_environment.reveal()},
                                {"MUSTER_TOKEN_FILE", "/named"},
                                {"XDG_CONFIG_HOME", folder + "/config"}});

  EXPECT_EQ((*find_tokens({.token = given}, all))->accepted(), std::vector{given});
  EXPECT_EQ(find_token_place({.file = "/told"}, all)->file, "/told");
  EXPECT_EQ((*find_tokens({}, all))->accepted(), std::vector{in_environment});
  EXPECT_EQ(find_token_place({}, environment({{"MUSTER_TOKEN_FILE", "/named"}}))->file, "/named");
  EXPECT_EQ(*user_token_path(environment({{"HOME", "/home/you"}})),
            "/home/you/.config/muster/token");

  ASSERT_TRUE(find_tokens({}, environment({{"XDG_CONFIG_HOME", folder + "/config"}})));
  EXPECT_EQ(mode(path), 0600) << "made on first use";
}

// A slip of the hand, and paths stand in errors.
TEST_F(TokenSearch, ATokenInPlaceOfAPathIsNotTold) {
  const std::string token = Token::random(7).reveal();
  for (const std::string& said : {token, " " + token + "\n", token.substr(0, token.size() / 2)}) {
    for (const auto& found : {find_tokens({.file = said}, environment({})),
                              find_tokens({}, environment({{"MUSTER_TOKEN_FILE", said}}))}) {
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().code(), Code::invalid);
      EXPECT_EQ(found.error().message().find(token.substr(15, 10)), std::string::npos);
      EXPECT_NE(found.error().message().find("MUSTER_TOKEN"), std::string::npos);
    }
  }
  for (const char* name :
       {"/etc/muster-token-1", "muster-token-", "muster-token-prod", "muster-token-2"}) {
    EXPECT_EQ(find_token_place({.file = name}, environment({}))->file, name);
  }
}

TEST_F(TokenSearch, AFileThatWasNamedAndIsNotThereIsNotMade) {
  const auto found = find_tokens({.file = path}, environment({}));

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::not_found);
  EXPECT_NE(found.error().message().find("muster token new --file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace muster::net
