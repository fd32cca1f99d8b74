#include "tests/turmoil/site.h"

#include <cstdlib>

#include "muster/base/check.h"
#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/registries/embedded/embedded.h"

namespace muster::tests {

using loop::Turn;

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "turmoil-XXXXXX").string();
  MUSTER_CHECK(mkdtemp(pattern.data()) != nullptr, "a test can make a folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Site::Site(const std::string& folder, const std::string& drivers) {
  auto loop = loop::Loop::make();
  MUSTER_CHECK(loop.has_value(), "a process has descriptors for a loop");
  loop_ = *std::move(loop);
  const Turn turn(*loop_);
  if (drivers.find("shm") != std::string::npos) {
    drivers_.push_back(*drivers::make_shm_driver(*loop_));
  }
  if (drivers.find("tcp") != std::string::npos) {
    drivers_.push_back(drivers::make_tcp_driver(*loop_));
  }
  registry_ = registries::make_embedded_registry(*loop_, {.folder = folder + "/registry"});
}

Site::~Site() {
  const Turn turn(*loop_);
  registry_.reset();
  drivers_.clear();
}

msg::ProxyOptions Site::options(const std::string& name) const {
  msg::ProxyOptions options;
  options.group = "turmoil";
  options.name = name;
  options.type = name.substr(0, name.rfind('_'));
  options.registry = registry_.get();
  for (const auto& driver : drivers_) options.drivers.push_back(driver.get());
  options.token.assign(32, std::byte{7});
  return options;
}

std::unique_ptr<msg::Proxy> Site::join(const msg::ProxyOptions& options) {
  auto proxy = msg::Proxy::join(*loop_, options, std::chrono::seconds(60));
  MUSTER_CHECK(proxy.has_value(), proxy ? "" : proxy.error().message());
  return *std::move(proxy);
}

}  // namespace muster::tests
