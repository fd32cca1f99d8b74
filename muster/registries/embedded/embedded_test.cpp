#include "muster/registries/embedded/embedded.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "muster/base/check.h"
#include "muster/msg/testing/registry_suite.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::msg::testing {
namespace {

using registries::embedded::TestFolder;

class EmbeddedWorld final : public RegistryWorld {
 public:
  std::string whereabouts() const override { return folder_.path(); }
  // A plain file lies where the folder should be.
  void break_down() override {
    std::filesystem::rename(folder_.path(), folder_.path() + ".away");
    std::ofstream(folder_.path()) << "no folder";
  }
  void repair() override {
    std::filesystem::remove(folder_.path());
    std::filesystem::rename(folder_.path() + ".away", folder_.path());
  }

 private:
  TestFolder folder_;
};

RegistrySubject embedded() {
  return {.name = "embedded",
          .make_world = [] { return std::make_unique<EmbeddedWorld>(); },
          .make_registry =
              [](loop::Loop& loop, const std::string& whereabouts) {
                return registries::make_embedded_registry(
                    loop, {.folder = whereabouts, .folder_check = std::chrono::milliseconds(100)});
              },
          .knows_at_once = true};
}

MUSTER_REGISTRY_SUITE(Embedded, embedded());

}  // namespace
}  // namespace muster::msg::testing
