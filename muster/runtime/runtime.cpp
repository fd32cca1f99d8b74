#include "muster/runtime/runtime.h"

#include <utility>

#include "muster/drivers/shm/shm.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/zmq/zmq.h"

namespace muster {

using loop::Turn;
using msg::Proxy;
using msg::ProxyOptions;

namespace {

Result<drivers::TlsOptions> find_certificates(drivers::TlsOptions options) {
  if (options.ca_file.empty() && options.certificate_file.empty() && options.key_file.empty()) {
    options.ca_file = net::process_environment("MUSTER_TLS_CA_FILE").value_or("");
    options.certificate_file = net::process_environment("MUSTER_TLS_CERTIFICATE_FILE").value_or("");
    options.key_file = net::process_environment("MUSTER_TLS_KEY_FILE").value_or("");
  }
  MUSTER_TRY_OK(drivers::check_tls(options));
  return options;
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::make(const RuntimeOptions& options) {
  std::unique_ptr<Runtime> made(new Runtime);
  MUSTER_TRY(made->tokens_, net::find_tokens(options.token));
  drivers::TlsOptions tls = options.tls;
  tls.tokens = made->tokens_;
  MUSTER_TRY(tls, find_certificates(std::move(tls)));
  MUSTER_TRY(made->loop_, loop::Loop::make());
  loop::Loop& loop = *made->loop_;
  const Turn turn(loop);
  auto shm = drivers::make_shm_driver(loop);
  // Where there is no such memory, tcp does it all.
  if (shm) made->drivers_.push_back(*std::move(shm));
  made->drivers_.push_back(drivers::make_tcp_driver(loop, {.tls = tls}));
  // For addresses that name it; it starts nothing before.
  made->drivers_.push_back(drivers::make_zmq_driver(loop, {.tokens = made->tokens_}));
  if (options.ucx) {
    MUSTER_TRY(auto ucx, drivers::make_ucx_driver(
                             loop, drivers::make_tcp_driver(loop, {.tls = std::move(tls)})));
    made->drivers_.push_back(std::move(ucx));
  }
  made->registry_ = registries::make_embedded_registry(loop, options.registry);
  return made;
}

Runtime::~Runtime() {
  if (loop_ == nullptr) return;
  const Turn turn(*loop_);
  registry_.reset();
  drivers_.clear();
}

std::vector<net::Driver*> Runtime::drivers() const {
  std::vector<net::Driver*> all;
  for (const auto& driver : drivers_) all.push_back(driver.get());
  return all;
}

ProxyOptions Runtime::complete(ProxyOptions options) const {
  if (options.registry == nullptr) options.registry = registry_.get();
  if (options.drivers.empty()) options.drivers = drivers();
  if (options.token.empty() && options.tokens == nullptr) options.tokens = tokens_;
  return options;
}

Result<std::vector<msg::Surveyed>> Runtime::survey(msg::SurveyOptions options,
                                                   const msg::Wait& wait) {
  if (options.registry == nullptr) options.registry = registry_.get();
  if (options.drivers.empty()) options.drivers = drivers();
  if (options.tokens == nullptr) options.tokens = tokens_;
  return msg::survey(*loop_, options, wait);
}

Result<std::unique_ptr<Proxy>> Runtime::start(ProxyOptions options) {
  return Proxy::start(*loop_, complete(std::move(options)));
}

Result<std::unique_ptr<Proxy>> Runtime::join(ProxyOptions options, const msg::Wait& wait) {
  return Proxy::join(*loop_, complete(std::move(options)), wait);
}

Result<WritableBuffer> Runtime::allocate(std::size_t size) {
  return drivers_.front()->allocate(size);
}

Result<std::unique_ptr<collectives::Communicator>> Runtime::communicator(
    collectives::CommunicatorOptions options, const msg::Wait& wait) {
  if (options.registry == nullptr) options.registry = registry_.get();
  if (options.drivers.empty()) options.drivers = drivers();
  if (options.token.empty() && options.tokens == nullptr) options.tokens = tokens_;
  return collectives::Communicator::join(*loop_, std::move(options), wait);
}

}  // namespace muster
