#include "muster/registries/embedded/folder.h"

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::registries::embedded {
namespace {

namespace fs = std::filesystem;

Code code_of_opening(const std::string& base) {
  const Result<Folder> folder = Folder::open(base, "g");
  return folder ? Code::internal : folder.error().code();
}

TEST(RegistryFolder, IsMadeForItsOwnerAlone) {
  const TestFolder test;
  const std::string base = test.path() + "/made";
  ASSERT_TRUE(Folder::open(base, "g"));
  for (const std::string& path : {base, base + "/g"}) {
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all) << path;
  }
}

TEST(RegistryFolder, ThatOthersMayEnterIsRefused) {
  const TestFolder test;
  fs::permissions(test.path(), fs::perms::owner_all | fs::perms::group_exec);
  EXPECT_EQ(code_of_opening(test.path()), Code::invalid);
  fs::permissions(test.path(), fs::perms::owner_all);
  fs::create_directory(test.path() + "/g");
  fs::permissions(test.path() + "/g", fs::perms::owner_all | fs::perms::others_read);
  EXPECT_EQ(code_of_opening(test.path()), Code::invalid);
}

TEST(RegistryFolder, ThatIsALinkOrAFileIsRefused) {
  const TestFolder test;
  fs::create_directory(test.path() + "/real");
  fs::permissions(test.path() + "/real", fs::perms::owner_all);
  fs::create_directory_symlink(test.path() + "/real", test.path() + "/link");
  std::ofstream(test.path() + "/file") << "x";
  EXPECT_EQ(code_of_opening(test.path() + "/link"), Code::invalid);
  EXPECT_EQ(code_of_opening(test.path() + "/file"), Code::invalid);
  fs::create_directory_symlink(test.path() + "/real", test.path() + "/g");
  EXPECT_EQ(code_of_opening(test.path()), Code::invalid);
}

TEST(RegistryFolder, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const TestFolder test;
  ASSERT_EQ(chown(test.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(code_of_opening(test.path()), Code::invalid);
}

TEST(RegistryFolder, ItsLockIsHeldByOneAlsoWithinAProcess) {
  const TestFolder test;
  const Folder one = *Folder::open(test.path(), "g");
  const Folder other = *Folder::open(test.path(), "g");
  {
    const auto lock = one.try_lock();
    ASSERT_TRUE(*lock);
    EXPECT_FALSE(*other.try_lock());
    EXPECT_FALSE(*one.try_lock());
  }
  EXPECT_TRUE(*other.try_lock());
}

// A child that is made while another thread looks for locks may look for them, too.
TEST(RegistryFolder, ItsLockIsKnownInAChildThatWasForkedBesideThreads) {
  const TestFolder test;
  const Folder folder = *Folder::open(test.path(), "g");
  const auto lock = folder.try_lock();
  ASSERT_TRUE(*lock);
  std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) static_cast<void>(folder.try_lock());
  });
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const auto mine = folder.try_lock();
      _exit(mine && !*mine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0) << "of child " << i;
  }
}

// True if another process can take the lock.
bool is_free_for_others(const Folder& folder) {
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = folder.try_lock();
    _exit(lock && *lock ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(RegistryFolder, ItsLockKeepsOtherProcessesOut) {
  const TestFolder test;
  const Folder folder = *Folder::open(test.path(), "g");
  EXPECT_TRUE(is_free_for_others(folder));
  const auto lock = folder.try_lock();
  ASSERT_TRUE(*lock);
  // Neither a try that fails nor a child that ends lets go of it.
  EXPECT_FALSE(*folder.try_lock());
  EXPECT_FALSE(is_free_for_others(folder));
  EXPECT_FALSE(is_free_for_others(folder));
}

TEST(RegistryFolder, KnowsWhenItsLockWasTakenFromUnderIt) {
  const TestFolder test;
  const Folder folder = *Folder::open(test.path(), "g");
  const auto lock = folder.try_lock();
  EXPECT_TRUE(folder.is_current(**lock));
  fs::rename(test.path() + "/g", test.path() + "/away");
  EXPECT_FALSE(folder.is_current(**lock));
  ASSERT_TRUE(Folder::open(test.path(), "g"));
  EXPECT_FALSE(folder.is_current(**lock));
}

TEST(RegistryFolder, KeepsWhatIsSavedWholeAndWithinALimit) {
  const TestFolder test;
  const Folder folder = *Folder::open(test.path(), "g");
  EXPECT_FALSE(*folder.load(100));
  const std::vector<std::byte> bytes(100, std::byte{7});
  ASSERT_TRUE(folder.save(bytes));
  EXPECT_EQ(**folder.load(100), bytes);
  EXPECT_EQ(folder.load(99).error().code(), Code::invalid);
}

TEST(RegistryFolder, WorksHoweverLongItsPathIs) {
  const TestFolder test;
  const std::string base = test.path() + "/" + std::string(150, 'x');
  const Folder folder = *Folder::open(base, "g");
  EXPECT_EQ(folder.connect().error().code(), Code::unavailable);
  const auto socket = folder.listen();
  ASSERT_TRUE(socket) << socket.error().describe();
  EXPECT_TRUE(folder.connect());
}

}  // namespace
}  // namespace muster::registries::embedded
