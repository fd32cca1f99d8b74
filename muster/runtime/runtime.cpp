#include "muster/runtime/runtime.h"

#include <utility>

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"

namespace muster {

using loop::Turn;
using msg::Proxy;
using msg::ProxyOptions;

Result<std::unique_ptr<Runtime>> Runtime::make(const RuntimeOptions& options) {
  std::unique_ptr<Runtime> made(new Runtime);
  MUSTER_TRY(made->tokens_, net::find_tokens(options.token));
  MUSTER_TRY(made->loop_, loop::Loop::make());
  loop::Loop& loop = *made->loop_;
  const Turn turn(loop);
  auto shm = drivers::make_shm_driver(loop);
  // Where there is no such memory, tcp does it all.
  if (shm) made->drivers_.push_back(*std::move(shm));
  made->drivers_.push_back(drivers::make_tcp_driver(loop, {.tls = {.tokens = made->tokens_}}));
  made->registry_ = registries::make_embedded_registry(loop, options.registry);
  return made;
}

Runtime::~Runtime() {
  if (loop_ == nullptr) return;
  const Turn turn(*loop_);
  registry_.reset();
  drivers_.clear();
}

ProxyOptions Runtime::complete(ProxyOptions options) const {
  if (options.registry == nullptr) options.registry = registry_.get();
  if (options.drivers.empty()) {
    for (const auto& driver : drivers_) options.drivers.push_back(driver.get());
  }
  if (options.token.empty()) options.token = tokens_->accepted().front().secret;
  return options;
}

Result<std::unique_ptr<Proxy>> Runtime::start(ProxyOptions options) {
  return Proxy::start(*loop_, complete(std::move(options)));
}

Result<std::unique_ptr<Proxy>> Runtime::join(ProxyOptions options, const msg::Wait& wait) {
  return Proxy::join(*loop_, complete(std::move(options)), wait);
}

Result<WritableBuffer> Runtime::allocate(std::size_t size) {
  const Turn turn(*loop_);
  return drivers_.front()->allocate(size);
}

Result<std::unique_ptr<collectives::Communicator>> Runtime::communicator(
    collectives::CommunicatorOptions options, const msg::Wait& wait) {
  if (options.registry == nullptr) options.registry = registry_.get();
  if (options.drivers.empty()) {
    for (const auto& driver : drivers_) options.drivers.push_back(driver.get());
  }
  if (options.token.empty()) options.token = tokens_->accepted().front().secret;
  return collectives::Communicator::join(*loop_, std::move(options), wait);
}

}  // namespace muster
