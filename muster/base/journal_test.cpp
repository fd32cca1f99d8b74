#include "muster/base/journal.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/descriptor.h"

namespace muster {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

constexpr std::size_t kBegin = 28;  // Where the first record is,
constexpr std::size_t kHead = 20;   // and how much of it stands before its bytes.

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = (folder / "one").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Result<Journal> open() {
    seen.clear();
    return Journal::open(path, [this](std::span<const std::byte> record) {
      seen.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
      return ok();
    });
  }
  // What a child of this process has got from opening it: 0, or the error's code.
  int outcome_in_child() {
    const pid_t child = fork();
    if (child == 0) {
      const auto journal = open();
      _exit(journal ? 0 : static_cast<int>(journal.error().code()));
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string contents() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set_contents(std::string_view text) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  using Texts = std::vector<std::string>;
  std::filesystem::path folder;
  std::string path;
  Texts seen;
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  {
    auto journal = open();
    ASSERT_TRUE(journal) << journal.error().message();
    EXPECT_TRUE(journal->append(bytes_of("one")));
    EXPECT_TRUE(journal->append(bytes_of("")));
    EXPECT_TRUE(journal->append(bytes_of(std::string(100'000, 'x'))));
  }
  ASSERT_TRUE(open());
  EXPECT_EQ(seen, (Texts{"one", "", std::string(100'000, 'x')}));
}

TEST_F(JournalTest, CutsOffWhatACrashLeftWhereverItWasTorn) {
  {
    auto journal = open();
    EXPECT_TRUE(journal->append(bytes_of("first")));
    EXPECT_TRUE(journal->append(bytes_of("second")));
  }
  const std::string whole = contents();
  const std::size_t last = whole.size() - kHead - 6;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    set_contents(whole.substr(0, size));
    {
      auto journal = open();
      ASSERT_TRUE(journal) << size << journal.error().message();
      EXPECT_TRUE(journal->append(bytes_of("third")));
    }
    ASSERT_TRUE(open());
    EXPECT_EQ(seen.back(), "third");
    EXPECT_EQ(seen.size(), size >= last ? 2U : 1U) << size;
  }
}

TEST_F(JournalTest, TakesALastRecordThatWasHalfWrittenInPlaceForOneThatIsNotThere) {
  {
    auto journal = open();
    EXPECT_TRUE(journal->append(bytes_of("first")));
    EXPECT_TRUE(journal->append(bytes_of("second")));
  }
  const std::string whole = contents();
  for (std::size_t at = whole.size() - kHead - 6; at < whole.size(); ++at) {
    std::string torn = whole;
    torn[at] = static_cast<char>(torn[at] ^ 0x40);
    set_contents(torn);
    ASSERT_TRUE(open()) << at;
    EXPECT_EQ(seen, Texts{"first"}) << at;
  }
}

TEST_F(JournalTest, RefusesAFileThatIsDamagedInTheMiddleOrNoJournal) {
  {
    auto journal = open();
    EXPECT_TRUE(journal->append(bytes_of("first")));
    EXPECT_TRUE(journal->append(bytes_of("second")));
  }
  std::string damaged = contents();
  damaged[kBegin + kHead] = 'F';
  set_contents(damaged);
  EXPECT_EQ(open().error().code(), Code::invalid);
  EXPECT_EQ(contents(), damaged) << "it is left as it was";
  set_contents("something else altogether");
  EXPECT_EQ(open().error().code(), Code::invalid);
}

TEST_F(JournalTest, KnowsDamageOfAnyByteFromATornLastRecord) {
  const Texts texts{"first", "", std::string(40, 'x'), "fourth", "last one"};
  std::vector<std::size_t> ends;
  {
    auto journal = open();
    for (const std::string& text : texts) {
      EXPECT_TRUE(journal->append(bytes_of(text)));
      ends.push_back(journal->size());
    }
  }
  const std::string whole = contents();
  const std::size_t last = ends[ends.size() - 2];
  for (std::size_t at = 0; at < whole.size(); ++at) {
    // A bit of it, all of it, and whatever makes a size small or huge.
    for (const int change : {0x01, 0x40, 0xFF}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      set_contents(damaged);
      const auto journal = open();
      if (at >= last) {
        ASSERT_TRUE(journal) << at << ' ' << journal.error().message();
        EXPECT_EQ(seen, Texts(texts.begin(), texts.end() - 1)) << at;
      } else {
        ASSERT_FALSE(journal) << at;
        EXPECT_EQ(journal.error().code(), Code::invalid) << at;
        EXPECT_EQ(contents(), damaged) << "it is left as it was";
      }
    }
  }
}

TEST_F(JournalTest, FindsAWholeRecordFarBehindTheDamage) {
  // On either side of what is read at once.
  for (std::size_t size = (1 << 16) - kHead - 10; size < (1 << 16) - kHead + 10; ++size) {
    std::filesystem::remove(path);
    {
      auto journal = open();
      EXPECT_TRUE(journal->append(bytes_of(std::string(size, 'x'))));
      EXPECT_TRUE(journal->append(bytes_of("second")));
    }
    std::string damaged = contents();
    damaged[kBegin + kHead - 1] = 1;  // A size that no file has.
    set_contents(damaged);
    EXPECT_EQ(open().error().code(), Code::invalid) << size;
  }
}

TEST_F(JournalTest, TakesATornRecordForNothingElseThoughAnotherJournalIsInIt) {
  {
    auto journal = open();
    EXPECT_TRUE(journal->append(bytes_of("another's")));
  }
  const std::string other = contents();
  std::filesystem::remove(path);
  {
    auto journal = open();
    EXPECT_TRUE(journal->append(bytes_of("first")));
    EXPECT_TRUE(journal->append(bytes_of(other + other)));
  }
  const std::string whole = contents();
  set_contents(whole.substr(0, whole.size() - 3));
  ASSERT_TRUE(open());
  EXPECT_EQ(seen, Texts{"first"});
}

TEST_F(JournalTest, IsForOneHolderAtATime) {
  constexpr int kUnavailable = static_cast<int>(Code::unavailable);
  auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(outcome_in_child(), kUnavailable);
  EXPECT_EQ(open().error().code(), Code::unavailable);
  std::filesystem::create_symlink(path + ".lock", folder / "other.lock");
  EXPECT_EQ(Journal::open(folder / "other", [](auto) { return ok(); }).error().code(),
            Code::unavailable);
  EXPECT_EQ(outcome_in_child(), kUnavailable) << "the attempts here have not let others in";
  journal = Error(Code::cancelled, "it is closed");
  EXPECT_EQ(outcome_in_child(), 0);
  EXPECT_TRUE(open());
}

TEST_F(JournalTest, IsFreeOnceItsProcessHasDiedWhoeverThatHasForked) {
  int pipe_of_ready[2];
  int pipe_of_life[2];
  ASSERT_EQ(pipe(pipe_of_ready), 0);
  ASSERT_EQ(pipe(pipe_of_life), 0);
  Descriptor is_ready(pipe_of_ready[0]);
  Descriptor life(pipe_of_life[1]);
  const pid_t component = fork();
  if (component == 0) {
    const auto journal = open();
    if (fork() == 0) {  // A helper, which ends when the test does.
      life.reset();
      const char mark = journal ? 'y' : 'n';
      static_cast<void>(!write(pipe_of_ready[1], &mark, 1));
      char none = 0;
      static_cast<void>(!read(pipe_of_life[0], &none, 1));
      _exit(0);
    }
    for (;;) pause();
  }
  close(pipe_of_ready[1]);
  close(pipe_of_life[0]);
  char mark = 0;
  ASSERT_EQ(read(is_ready.get(), &mark, 1), 1);
  EXPECT_EQ(mark, 'y');
  EXPECT_EQ(open().error().code(), Code::unavailable) << "while it lives";
  kill(component, SIGKILL);
  EXPECT_EQ(waitpid(component, nullptr, 0), component);
  const auto journal = open();
  EXPECT_TRUE(journal) << journal.error().message();
}

TEST_F(JournalTest, OfAParentIsNotTakenFromItByAChildThatClosesItsCopy) {
  std::optional<Journal> journal(*open());
  const pid_t child = fork();
  if (child == 0) {
    journal.reset();
    _exit(open() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(outcome_in_child(), static_cast<int>(Code::unavailable));
}

TEST_F(JournalTest, IsRewrittenWholeOrNotAtAll) {
  {
    auto journal = open();
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(journal->append(bytes_of("old")));
    const auto before = journal->size();
    EXPECT_EQ(
        journal->rewrite([](const auto&) { return Error(Code::failed, "no"); }).error().code(),
        Code::failed);
    EXPECT_EQ(journal->size(), before);
    EXPECT_TRUE(
        journal->rewrite([](const Journal::Write& write) { return write(bytes_of("new")); }));
    EXPECT_LT(journal->size(), before);
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    EXPECT_TRUE(journal->append(bytes_of("newer")));
    Texts again;
    EXPECT_TRUE(journal->read([&](std::span<const std::byte> record) {
      again.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
      return ok();
    }));
    EXPECT_EQ(again, (Texts{"new", "newer"}));
  }
  // One that a crash left unfinished counts for nothing.
  std::ofstream(path + ".new") << "half of it";
  auto journal = open();
  ASSERT_TRUE(journal);
  EXPECT_EQ(seen, (Texts{"new", "newer"}));
  EXPECT_TRUE(journal->rewrite([](const auto&) { return ok(); }));
  EXPECT_TRUE(journal->read([](auto) { return Error(Code::failed, "there is nothing"); }));
}

}  // namespace
}  // namespace muster
