#include "muster/msg/proxy_core.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>

#include "muster/msg/name_letters.h"

namespace muster::msg::internal {
namespace {

// How often this process was forked off since the library was loaded; read by
// every call, so that none needs to ask the system for its pid.
std::atomic<std::uint32_t> forks{0};
[[maybe_unused]] const int kWatchesForks =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= net::kMaxName && std::ranges::all_of(text, is_name_letter);
}

Status check_name(std::string_view what, std::string_view text) {
  if (is_name(text)) return ok();
  return Error(Code::invalid,
               fmt::format("join: the {} \"{}\" must be 1 to {} letters, digits, '_', '-' or '.'",
                           what, text, net::kMaxName));
}

Status check(const ProxyOptions& options) {
  MUSTER_TRY_OK(check_name("group", options.group));
  MUSTER_TRY_OK(check_name("type", options.type));
  MUSTER_TRY_OK(check_name("name", options.name));
  if (options.registry == nullptr) return Error(Code::invalid, "join: there is no registry");
  if (options.drivers.empty()) return Error(Code::invalid, "join: there is no driver");
  for (const auto* list : {&options.expected, &options.minimum}) {
    for (const Expected& expected : *list) {
      if (!expected.name.empty() ? expected.name == options.name
                                 : expected.type.empty() || expected.count == 0) {
        return Error(Code::invalid,
                     "join: expect peers by a type and a count above 0, or by a "
                     "name that is not your own");
      }
    }
  }
  return ok();
}

// Where a driver listens if nobody says where.
std::string default_address(std::string_view scheme) {
  return fmt::format("{}://{}", scheme, scheme == "tcp" || scheme == "zmq" ? "127.0.0.1:0" : "*");
}

Result<std::vector<net::Address>> addresses_of(const ProxyOptions& options) {
  std::vector<std::string> texts = options.listen;
  if (texts.empty()) {
    // Nobody would come unasked to what is used only when named.
    const auto is_usual = [](const net::Driver* driver) {
      return net::is_chosen_unasked(driver->scheme());
    };
    const bool has_usual = std::ranges::any_of(options.drivers, is_usual);
    for (const net::Driver* driver : options.drivers) {
      if (!has_usual || is_usual(driver)) texts.push_back(default_address(driver->scheme()));
    }
  }
  std::vector<net::Address> addresses;
  for (const std::string& text : texts) {
    MUSTER_TRY(net::Address address, net::Address::parse(text));
    addresses.push_back(std::move(address));
  }
  return addresses;
}

net::EndpointOptions endpoint_options(const ProxyOptions& options, const Id& id) {
  net::EndpointOptions made;
  made.token = options.token;
  made.tokens = options.tokens;
  made.id = id;
  made.name = options.name;
  made.drivers = options.drivers;
  made.max_body = options.max_body;
  made.window = options.window;
  made.max_queued = Channel::in_link(options);
  made.beat = options.beat;
  made.silence = options.silence;
  made.close_deadline = options.close_deadline;
  made.random = options.random;
  return made;
}

}  // namespace

std::uint32_t ProxyCore::current_forks() { return forks.load(std::memory_order_relaxed); }

Status ProxyCore::check_process() const {
  if (is_this_process()) return ok();
  return Error(Code::invalid,
               "a proxy cannot be used in a child of its process; make a new one in the child");
}

Result<std::unique_ptr<ProxyCore>> ProxyCore::make(loop::Loop& loop, ProxyOptions options) {
  if (options.name.empty()) {
    options.name = fmt::format("{}_{:016x}", options.type, options.random());
  }
  MUSTER_TRY_OK(check(options));
  std::unique_ptr<ProxyCore> core(new ProxyCore(loop, std::move(options)));
  const ProxyOptions& given = core->options_;
  std::vector<Handled> handled;
  std::vector<StoredMessage> stored;
  if (given.dedup != nullptr) {
    MUSTER_TRY(handled, given.dedup->load());
  }
  if (given.outbox != nullptr) {
    MUSTER_TRY(stored, given.outbox->load());
  }
  const loop::Turn turn(loop);
  core->restore(std::move(handled), std::move(stored));
  MUSTER_TRY_OK(core->open());
  return core;
}

ProxyCore::ProxyCore(loop::Loop& loop, ProxyOptions options)
    : loop_(loop),
      options_(std::move(options)),
      forks_(current_forks()),
      nonce_(options_.random() | 1),
      sessions_(nonce_, options_.max_sessions),
      mailbox_(options_.max_waiting),
      session_timer_([this] { sessions_due(); }),
      minimum_timer_([this] { minimum_missed(); }) {
  self_.name = options_.name;
  self_.type = options_.type;
  self_.id = {options_.random(), options_.random()};
}

Status ProxyCore::open() {
  std::string folder = options_.trace;
  if (const char* told = std::getenv("MUSTER_TRACE"); folder.empty() && told != nullptr) {
    folder = told;
  }
  if (!folder.empty()) {
    MUSTER_TRY(trace_, Trace::open(folder, options_.group, options_.name));
  }
  MUSTER_TRY(endpoint_, net::Endpoint::make(loop_, endpoint_options(options_, self_.id)));
  MUSTER_TRY(const std::vector<net::Address> wanted, addresses_of(options_));
  MUSTER_TRY(const std::vector<net::Address> got,
             endpoint_->listen(wanted, [this](std::unique_ptr<net::Link> link) -> net::LinkSink& {
               strangers_.push_back(std::make_unique<PeerLink>(*this, ++last_serial_, PeerId{}));
               strangers_.back()->link = std::move(link);
               return *strangers_.back();
             }));
  for (const net::Address& address : got) self_.addresses.push_back(address.to_string());
  MUSTER_TRY(membership_, options_.registry->join({options_.group, self_, options_.lease}, *this));
  return ok();
}

ProxyCore::~ProxyCore() {
  const loop::Turn turn(loop_);
  sessions_.end_all(Error(Code::cancelled, "the proxy is gone"));
  membership_.reset();
  loop_.forget(*this);
  // Here, under the baton, and not when the members go.
  loop_.stop(session_timer_);
  loop_.stop(minimum_timer_);
  doomed_.clear();
  strangers_.clear();
  channels_.clear();
  endpoint_.reset();
}

void ProxyCore::tell(ProxyEvent event) {
  if (options_.max_events == 0) return;
  events_.push_back(std::move(event));
  bound_events();
}

// The oldest give way, and are told as missed where they were.
void ProxyCore::bound_events() {
  while (events_.size() > options_.max_events) {
    const ProxyEvent& oldest = events_.front();
    missed_events_ += oldest.kind == ProxyEvent::Kind::missed ? oldest.count : 1;
    events_.pop_front();
  }
  counted_events();
}

std::optional<ProxyEvent> ProxyCore::take_event() {
  if (const std::size_t missed = std::exchange(missed_events_, 0); missed > 0) {
    counted_events();
    return ProxyEvent{.kind = ProxyEvent::Kind::missed,
                      .text = "events that nobody had taken gave way; raise max_events",
                      .count = missed};
  }
  if (events_.empty()) return std::nullopt;
  ProxyEvent event = std::move(events_.front());
  events_.pop_front();
  counted_events();
  return event;
}

std::deque<ProxyEvent> ProxyCore::take_events() {
  std::deque<ProxyEvent> all;
  while (auto event = take_event()) all.push_back(*std::move(event));
  return all;
}

void ProxyCore::put_back(std::deque<ProxyEvent> untold) {
  untold.insert(untold.end(), std::move_iterator(events_.begin()),
                std::move_iterator(events_.end()));
  events_ = std::move(untold);
  bound_events();
}

void ProxyCore::sessions_due() {
  if (sessions_.expire(loop_.now()) > 0) ++rooms_;
  sessions_changed();
}

void ProxyCore::sessions_changed() {
  for (auto& [id, why] : sessions_.take_unheard()) {
    tell({.kind = ProxyEvent::Kind::session_ended, .text = why.describe(), .session = id});
  }
  const TimePoint next = sessions_.next_deadline();
  if (next == kForever) return;
  if (!session_timer_.is_armed() || session_timer_.due() > next) loop_.start(session_timer_, next);
}

ProxyCounters ProxyCore::counters() const {
  ProxyCounters counters = counters_;
  counters.waiting = mailbox_.count() + put_back_.size();
  counters.waiting_bytes = mailbox_.bytes();
  counters.open_sessions = sessions_.open_count();
  counters.sessions = sessions_.size();
  for (const auto& there : channels_) counters.kept += there != nullptr ? there->kept.count() : 0;
  return counters;
}

}  // namespace muster::msg::internal
