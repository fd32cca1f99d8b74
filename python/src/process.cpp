// Making and ending a runtime let the interpreter's lock go.

#include "process.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "errors.h"
#include "interpreter.h"
#include "muster/registries/redis/redis.h"
#include "proxy_handle.h"

namespace muster::python {
namespace {

// What one process has. Guarded by the interpreter's lock.
struct Process {
  std::uint32_t forks = fork_count();
  std::unique_ptr<Runtime> runtime;
  std::map<std::string, std::unique_ptr<msg::Registry>> registries;
  std::vector<ProxyHandle*> proxies;
  // Nobody has them any more, but they have not said goodbye to all yet.
  std::vector<std::unique_ptr<msg::Proxy>> departing;
  std::shared_ptr<std::atomic<int>> uses = std::make_shared<std::atomic<int>>(0);
};

Process* current = nullptr;

// What a parent had is forgotten: neither its threads nor its locks are here.
Process& process() {
  if (current == nullptr || current->forks != fork_count()) current = new Process;
  return *current;
}

Result<std::unique_ptr<msg::Registry>> make_registry(const std::string& where) {
  loop::Loop& loop = runtime().loop();
  if (where.starts_with("redis://") || where.starts_with("rediss://")) {
    MUSTER_TRY(registries::RedisOptions options, registries::RedisOptions::parse(where));
    const loop::Turn turn(loop);
    return registries::make_redis_registry(loop, std::move(options));
  }
  MUSTER_TRY_OK(registries::prepare_folder(where));
  const loop::Turn turn(loop);
  return registries::make_embedded_registry(loop, {.folder = where});
}

bool is_anybody_inside() {
  return std::ranges::any_of(process().proxies,
                             [](const ProxyHandle* handle) { return handle->inside > 0; });
}

// Says goodbye to all groups, and sends what is queued, for a moment at most.
void leave_all(Duration patience) {
  const TimePoint deadline = process().runtime->loop().now() + patience;
  for (ProxyHandle* handle : std::vector(process().proxies)) {
    if (handle->proxy == nullptr) continue;
    msg::Proxy& proxy = *handle->proxy;
    const Unlocked unlocked;
    static_cast<void>(proxy.leave(msg::Wait(deadline)));
  }
  for (const auto& proxy : process().departing) {
    const Unlocked unlocked;
    static_cast<void>(proxy->leave(msg::Wait(deadline)));
  }
}

// Called when the interpreter ends, before it takes anything apart.
void close() {
  using std::chrono::milliseconds;
  if (current == nullptr || current->forks != fork_count() || !current->runtime) {
    return begin_closing();
  }
  begin_closing();
  leave_all(std::chrono::seconds(2));
  for (int i = 0; i < 300 && is_anybody_inside(); ++i) {
    const Unlocked unlocked;
    std::this_thread::sleep_for(milliseconds(1));
  }
  // Who is still inside keeps all that it may touch.
  if (is_anybody_inside() || current->uses->load() > 0) return;
  std::vector<std::unique_ptr<msg::Proxy>> proxies = std::move(current->departing);
  for (ProxyHandle* handle : current->proxies) proxies.push_back(std::move(handle->proxy));
  auto registries = std::move(current->registries);
  std::unique_ptr<Runtime> runtime = std::move(current->runtime);
  const Unlocked unlocked;
  proxies.clear();
  {
    const loop::Turn turn(runtime->loop());
    registries.clear();
  }
  runtime.reset();
}

}  // namespace

Runtime& runtime() {
  Process& here = process();
  if (here.runtime) return *here.runtime;
  sleep_if_closing();
  if (is_closing()) raise(Error(Code::cancelled, "use muster: the interpreter is ending"));
  here.runtime = unwrap(Runtime::make());
  call(nb::module_::import_("muster._process").attr("runtime_started"));
  return *here.runtime;
}

msg::Registry* registry_at(const std::string& where) {
  if (where.empty()) return nullptr;
  auto& known = process().registries;
  if (const auto found = known.find(where); found != known.end()) return found->second.get();
  return known.emplace(where, unwrap(make_registry(where))).first->second.get();
}

RuntimeUse::RuntimeUse() : uses_(process().uses) { uses_->fetch_add(1); }
RuntimeUse::~RuntimeUse() { uses_->fetch_sub(1); }

void enter_proxy(ProxyHandle& handle) { process().proxies.push_back(&handle); }

void remove_proxy(ProxyHandle& handle) {
  if (handle.forks != fork_count()) return static_cast<void>(handle.proxy.release());
  Process& here = process();
  std::erase(here.proxies, &handle);
  if (handle.proxy == nullptr) return;
  const auto has_left = [](const std::unique_ptr<msg::Proxy>& proxy) {
    return proxy->leave(msg::Wait(Duration::zero())).has_value();
  };
  std::erase_if(here.departing, has_left);
  if (!has_left(handle.proxy)) here.departing.push_back(std::move(handle.proxy));
}

void bind_process(nb::module_& module) {
  module.def("close", close, "Leaves all groups, and ends what waits. Called at exit.");
}

}  // namespace muster::python
