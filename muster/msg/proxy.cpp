#include "muster/msg/proxy.h"

#include <utility>

#include <fmt/format.h>

#include "muster/base/exit_code.h"
#include "muster/msg/proxy_core.h"
#include "muster/msg/proxy_wait.h"

namespace muster::msg {

using internal::ProxyCore;
using internal::Waited;
using loop::Turn;

namespace {

std::string registry_missing(const ProxyCore& core) {
  const std::string answer = "an answer of the registry";
  return core.registry_away() ? fmt::format("{} ({})", answer, core.registry_away()->message())
                              : answer;
}

// Removals of the OutboxStore that wait for one another.
constexpr std::size_t kUnwritten = 256;

}  // namespace

Proxy::Proxy(std::unique_ptr<ProxyCore> core) : core_(std::move(core)) {}

Proxy::~Proxy() {
  // In a forked child neither the baton nor the links are ours to touch.
  if (!core_->is_this_process()) static_cast<void>(core_.release());
}

Result<std::unique_ptr<Proxy>> Proxy::start(loop::Loop& loop, ProxyOptions options) {
  MUSTER_TRY(std::unique_ptr<ProxyCore> core, ProxyCore::make(loop, std::move(options)));
  return std::unique_ptr<Proxy>(new Proxy(std::move(core)));
}

Result<std::unique_ptr<Proxy>> Proxy::join(loop::Loop& loop, ProxyOptions options,
                                           const Wait& wait) {
  MUSTER_TRY(std::unique_ptr<Proxy> proxy, start(loop, std::move(options)));
  ProxyCore& core = *proxy->core_;
  const std::vector<Expected>& expected = core.options().expected;
  const Waited waited =
      internal::wait_for(loop, wait, [&] { return core.end() || core.has_met_expected(); });
  const Turn turn(loop);
  if (core.end()) return core.end()->during(fmt::format("join {}", core.options().group));
  if (waited == Waited::done) return proxy;
  const std::string missing = core.is_joined() ? core.missing_of(expected) : registry_missing(core);
  return internal::why_not(waited, fmt::format("join {} as {}: still missing: {}",
                                               core.options().group, core.options().name, missing));
}

const std::string& Proxy::group() const { return core_->options().group; }
const std::string& Proxy::name() const { return core_->options().name; }
const std::string& Proxy::type() const { return core_->options().type; }
loop::Loop& Proxy::loop() const { return core_->loop(); }
const ProxyOptions& Proxy::options() const { return core_->options(); }

std::uint64_t Proxy::incarnation() const {
  if (!core_->is_this_process()) return 0;
  const Turn turn(core_->loop());
  return core_->incarnation();
}

Status Proxy::leave(const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  const TimePoint deadline = wait.deadline_from([this] { return core_->loop().now(); });
  internal::wait_for(core_->loop(), wait, deadline,
                     [this] { return core_->end() || core_->is_all_done(); });
  Status written = write_kept();
  {
    const Turn turn(core_->loop());
    core_->leave();
  }
  const Waited waited =
      internal::wait_for(core_->loop(), wait, deadline, [this] { return core_->has_left(); });
  // What was done meanwhile: the next of our name need not send it.
  if (Status rest = write_kept(); !rest && written) written = std::move(rest);
  call_back();
  if (waited == Waited::done) return written;
  return internal::why_not(waited, fmt::format("leave {}", group()));
}

bool Proxy::is_joined() const {
  if (!core_->is_this_process()) return false;
  const Turn turn(core_->loop());
  return core_->is_joined();
}

std::optional<Error> Proxy::ended() const {
  if (Status here = core_->check_process(); !here) return here.error();
  const Turn turn(core_->loop());
  return core_->end();
}

int Proxy::exit_code() const {
  const std::optional<Error> end = ended();
  if (!end) return kExitDone;
  return core_->ends_job() ? kExitJob : muster::exit_code(*end);
}

std::vector<PeerInfo> Proxy::peers() const {
  std::vector<PeerInfo> infos;
  if (!core_->is_this_process()) return infos;
  const Turn turn(core_->loop());
  if (core_->end()) return infos;
  for (const PeerId id : core_->peers().select(Audience::all())) {
    infos.push_back(core_->describe(*core_->peers().find(id)));
  }
  return infos;
}

std::vector<std::string> Proxy::peer_names(std::string_view type) const {
  std::vector<std::string> names;
  for (PeerInfo& info : peers()) {
    if (info.presence == Presence::here && info.type == type) names.push_back(std::move(info.name));
  }
  return names;
}

std::optional<PeerInfo> Proxy::peer(std::string_view name) const {
  if (!core_->is_this_process()) return std::nullopt;
  const Turn turn(core_->loop());
  const PeerRecord* record = core_->peers().find(name);
  if (record == nullptr) return std::nullopt;
  return core_->describe(*record);
}

Result<PeerId> Proxy::find(std::string_view name) const {
  MUSTER_TRY_OK(core_->check_process());
  const Turn turn(core_->loop());
  return core_->resolve(name);
}

Status Proxy::wait_for_peers(const std::vector<Expected>& expected, const Wait& wait) {
  MUSTER_TRY_OK(core_->check_process());
  const TimePoint deadline = wait.deadline_from([this] { return core_->loop().now(); });
  const Waited waited =
      attend(wait, deadline, [&] { return core_->end() || core_->has(expected); });
  const Turn turn(core_->loop());
  if (core_->end()) return *core_->end();
  if (core_->has(expected)) return ok();
  return internal::why_not(waited, fmt::format("wait for {}", core_->missing_of(expected)));
}

bool Proxy::has_peers(const std::vector<Expected>& expected) const {
  if (!core_->is_this_process()) return false;
  const Turn turn(core_->loop());
  return !core_->end() && core_->has(expected);
}

Result<WritableBuffer> Proxy::allocate(std::size_t size) {
  MUSTER_TRY_OK(core_->check_process());
  net::Driver* const driver = core_->sharing_driver();
  return driver != nullptr ? driver->allocate(size) : WritableBuffer::on_heap(size);
}

std::optional<ProxyEvent> Proxy::next_event(const Wait& wait) {
  if (!core_->is_this_process()) return std::nullopt;
  std::optional<ProxyEvent> event;
  internal::wait_for(core_->loop(), wait, [&] {
    if (!event) event = core_->take_event();
    return event.has_value() || core_->end().has_value();
  });
  return event;
}

// Tells the user what happened, on the user's own thread.
void Proxy::call_back() {
  if (core_->unwritten() >= kUnwritten) static_cast<void>(write_kept());
  if (!core_->wants_call_back()) return;
  decide_minimum();
  const auto& on_event = core_->options().on_event;
  if (on_event == nullptr) return;
  std::deque<ProxyEvent> events;
  {
    const Turn turn(core_->loop());
    events = core_->take_events();
  }
  const internal::OnThrow put_back([&] {
    const Turn turn(core_->loop());
    core_->put_back(std::move(events));
  });
  while (!events.empty()) {
    const ProxyEvent event = std::move(events.front());
    events.pop_front();
    on_event(event);
  }
}

void Proxy::decide_minimum() {
  if (!core_->takes_decision()) return;
  std::string missing;
  {
    const Turn turn(core_->loop());
    missing = core_->missing_of(core_->options().minimum);
  }
  const internal::OnThrow ask_again([this] { core_->not_decided(); });
  const TooFew decision = core_->options().on_too_few(missing);
  const Turn turn(core_->loop());
  core_->decide(decision);
}

internal::Waited Proxy::attend(const Wait& wait, TimePoint deadline,
                               const std::function<bool()>& done) {
  Waited waited = Waited::done;
  if (!core_->calls_back()) {
    waited = internal::wait_for(core_->loop(), wait, deadline, done);
    call_back();
    return waited;
  }
  for (bool is_done = false; !is_done && waited == Waited::done;) {
    waited = internal::wait_for(core_->loop(), wait, deadline, [&] {
      is_done = is_done || done();
      return is_done || core_->wants_call_back();
    });
    call_back();
  }
  return waited;
}

ProxyCounters Proxy::counters() const {
  if (!core_->is_this_process()) return {};
  const Turn turn(core_->loop());
  return core_->counters();
}

Report Proxy::report() const {
  if (!core_->is_this_process()) return {};
  const Turn turn(core_->loop());
  return core_->report();
}

std::string_view name(ProxyEvent::Kind kind) {
  switch (kind) {
    case ProxyEvent::Kind::joined: return "joined";
    case ProxyEvent::Kind::returned: return "returned";
    case ProxyEvent::Kind::left: return "left";
    case ProxyEvent::Kind::lost: return "lost";
    case ProxyEvent::Kind::link_broke: return "link_broke";
    case ProxyEvent::Kind::registry_unreachable: return "registry_unreachable";
    case ProxyEvent::Kind::registry_back: return "registry_back";
    case ProxyEvent::Kind::dropped: return "dropped";
    case ProxyEvent::Kind::refused: return "refused";
    case ProxyEvent::Kind::unwanted: return "unwanted";
    case ProxyEvent::Kind::session_ended: return "session_ended";
    case ProxyEvent::Kind::too_few_peers: return "too_few_peers";
    case ProxyEvent::Kind::enough_peers: return "enough_peers";
    case ProxyEvent::Kind::minimum_missed: return "minimum_missed";
    case ProxyEvent::Kind::fenced: return "fenced";
    case ProxyEvent::Kind::missed: return "missed";
  }
  return "unknown";
}

}  // namespace muster::msg
