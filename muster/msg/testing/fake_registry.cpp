#include "muster/msg/testing/fake_registry.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::msg::testing {

// One member's place: what it is still to be told, in order.
class FakeRegistry::Seat final : public Membership {
 public:
  Seat(FakeRegistry& registry, JoinRequest request, RegistrySink& sink)
      : registry_(registry), request_(std::move(request)), sink_(sink), timer_([this] { run(); }) {
    registry_.seats_.push_back(this);
  }
  ~Seat() override {
    registry_.loop_.check_held();
    if (is_there) registry_.remove(*this, false);
    std::erase(registry_.seats_, this);
  }

  void leave() override {
    if (is_there) registry_.remove(*this, true);
    is_over_ = true;
    news_.clear();
    tell([](RegistrySink& sink) { sink.on_ended(Error(Code::cancelled, "it left")); });
  }

  void remind(const Member& known) override { registry_.remind(request_.group, known); }

  void tell(std::function<void(RegistrySink&)> what) {
    news_.push_back({registry_.loop_.now() + registry_.delay_, std::move(what)});
    if (!timer_.is_armed()) registry_.loop_.start(timer_, news_.front().due);
  }
  // Nothing follows on this.
  void end(Error why) {
    is_over_ = true;
    tell([why = std::move(why)](RegistrySink& sink) { sink.on_ended(why); });
  }
  void drop_news() { news_.clear(); }

  const JoinRequest& request() const { return request_; }
  bool is_over() const { return is_over_; }
  bool is_there = false;
  Member self;

 private:
  struct News {
    TimePoint due;
    std::function<void(RegistrySink&)> what;
  };

  // One at a time: the last may destroy this.
  void run() {
    if (news_.empty()) return;  // They were dropped.
    const auto what = std::move(news_.front().what);
    news_.pop_front();
    if (!news_.empty()) registry_.loop_.start(timer_, news_.front().due);
    what(sink_);
  }

  FakeRegistry& registry_;
  const JoinRequest request_;
  RegistrySink& sink_;
  loop::Timer timer_;
  std::deque<News> news_;
  bool is_over_ = false;
};

FakeRegistry::FakeRegistry(loop::Loop& loop, Duration delay) : loop_(loop), delay_(delay) {}

FakeRegistry::~FakeRegistry() = default;

Result<std::unique_ptr<Membership>> FakeRegistry::join(const JoinRequest& request,
                                                       RegistrySink& sink) {
  loop_.check_held();
  if (request.group.empty() || request.self.name.empty()) {
    return Error(Code::invalid, "join: a group and a component have names");
  }
  auto seat = std::make_unique<Seat>(*this, request, sink);
  if (is_reachable_) {
    admit(*seat);
  } else {
    seat->tell(
        [](RegistrySink& to) { to.on_unreachable(Error(Code::unavailable, "no registry")); });
  }
  return std::unique_ptr<Membership>(std::move(seat));
}

class FakeRegistry::Question final : public Inquiry {
 public:
  Question(FakeRegistry& registry, std::string group, OnRoll done)
      : registry_(registry),
        group_(std::move(group)),
        done_(std::move(done)),
        timer_([this] { answer(); }) {
    registry_.loop_.start(timer_, registry_.loop_.now() + registry_.delay_);
  }

 private:
  void answer() {
    const OnRoll done = std::move(done_);
    if (!registry_.is_reachable_) return done(Error(Code::unavailable, "no registry"));
    std::vector<Member> members;
    for (const auto& [name, record] : registry_.groups_[group_].records) {
      if (record.seat != nullptr) members.push_back(record.member);
    }
    done(std::move(members));
  }

  FakeRegistry& registry_;
  const std::string group_;
  OnRoll done_;
  loop::Timer timer_;
};

Result<std::unique_ptr<Inquiry>> FakeRegistry::ask(const std::string& group, OnRoll done) {
  loop_.check_held();
  MUSTER_TRY_OK(check_group(group));
  return std::unique_ptr<Inquiry>(std::make_unique<Question>(*this, group, std::move(done)));
}

void FakeRegistry::admit(Seat& seat) {
  Group& group = groups_[seat.request().group];
  const std::string& name = seat.request().self.name;
  Record& record = group.records[name];
  if (record.member.id != seat.request().self.id) {
    if (record.seat != nullptr) {
      record.seat->is_there = false;
      record.seat->end(Error(Code::invalid, "fenced: a younger incarnation bears this name"));
    }
    const std::uint64_t incarnation = record.member.incarnation + 1;
    record.member = seat.request().self;
    record.member.incarnation = incarnation;
  }
  record.seat = &seat;
  seat.is_there = true;
  seat.self = record.member;
  for (const auto& [other, there] : group.records) {
    if (other == name || there.seat == nullptr) continue;
    seat.tell([member = there.member](RegistrySink& sink) { sink.on_joined(member); });
  }
  seat.tell([member = record.member](RegistrySink& sink) { sink.on_admitted(member); });
  tell_others(seat.request().group, name,
              [member = record.member](RegistrySink& sink) { sink.on_joined(member); });
}

void FakeRegistry::remind(const std::string& group, const Member& known) {
  Record& record = groups_[group].records[known.name];
  if (!is_reachable_ || record.seat == nullptr || record.member.id == known.id ||
      record.member.incarnation > known.incarnation) {
    return;
  }
  record.member.incarnation = known.incarnation + 1;
  record.seat->self = record.member;
  record.seat->tell([member = record.member](RegistrySink& sink) { sink.on_admitted(member); });
  tell_others(group, known.name,
              [member = record.member](RegistrySink& sink) { sink.on_joined(member); });
}

void FakeRegistry::forget(std::string_view group) {
  const loop::Turn turn(loop_);
  for (auto& [name, record] : groups_[std::string(group)].records) {
    if (record.seat == nullptr) record.member = {};
  }
}

void FakeRegistry::tell_others(const std::string& group, const std::string& name,
                               const std::function<void(RegistrySink&)>& what) {
  for (auto& [other, record] : groups_[group].records) {
    if (other != name && record.seat != nullptr) record.seat->tell(what);
  }
}

void FakeRegistry::remove(Seat& seat, bool is_goodbye) {
  const std::string& group = seat.request().group;
  const std::string& name = seat.request().self.name;
  seat.is_there = false;
  Record& record = groups_[group].records[name];
  if (record.seat != &seat) return;
  record.seat = nullptr;
  if (!is_reachable_) return;
  tell_others(group, name, [member = record.member, is_goodbye](RegistrySink& sink) {
    if (is_goodbye) return sink.on_left(member);
    sink.on_lost(member, Error(Code::unavailable, "its process died"));
  });
}

void FakeRegistry::crash(std::string_view group, std::string_view name) {
  const loop::Turn turn(loop_);
  const auto& records = groups_[std::string(group)].records;
  const auto found = records.find(std::string(name));
  if (found == records.end() || found->second.seat == nullptr) return;
  Seat& seat = *found->second.seat;
  seat.drop_news();
  remove(seat, false);
}

void FakeRegistry::set_reachable(bool is_reachable) {
  const loop::Turn turn(loop_);
  if (std::exchange(is_reachable_, is_reachable) == is_reachable) return;
  const std::vector<Seat*> seats = seats_;
  for (Seat* seat : seats) {
    if (seat->is_over()) continue;
    if (!is_reachable) {
      seat->tell([](RegistrySink& sink) {
        sink.on_unreachable(Error(Code::unavailable, "the registry is out of reach"));
      });
    } else {
      admit(*seat);
    }
  }
}

}  // namespace muster::msg::testing
