#include "muster/collectives/testing/plan_machine.h"

#include <algorithm>

namespace muster::collectives::testing {

Arithmetic sums() {
  return {[](Number left, Number right) { return left + right; },
          [](Number value) { return value * 3 + 1; }};
}

Arithmetic compositions() {
  const auto compose = [](Number left, Number right) {
    const auto a = static_cast<std::uint32_t>(left >> 32);
    const auto b = static_cast<std::uint32_t>(left);
    const auto c = static_cast<std::uint32_t>(right >> 32);
    const auto d = static_cast<std::uint32_t>(right);
    return Number{a * c} << 32 | (a * d + b);
  };
  return {compose, [](Number value) { return value * 3 + 1; }};
}

PlanMachine::PlanMachine(std::vector<Plan> plans, std::vector<RankMemory> memory,
                         Arithmetic arithmetic, std::uint64_t seed)
    : arithmetic_(std::move(arithmetic)), random_(seed) {
  const std::size_t ranks = plans.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Member& member = members_.emplace_back();
    const RankMemory& given = memory[rank];
    member.plan = std::move(plans[rank]);
    member.clock.assign(ranks, 0);
    member.clock[rank] = 1;
    member.input_count = given.input.size();
    member.result_count = given.result_count;
    member.input_at = given.same_memory ? given.input_at : 0;
    member.result_at = given.same_memory ? given.result_at : given.input.size();
    member.scratch_at =
        std::max(member.input_at + member.input_count, member.result_at + member.result_count);
    member.window_at = member.scratch_at + member.plan.scratch;
    member.cells.resize(member.window_at + member.plan.window);
    for (Cell& cell : member.cells) {
      cell.value = random_();
      cell.writer = static_cast<Rank>(rank);
      cell.read.assign(ranks, 0);
    }
    for (std::size_t i = 0; i < given.input.size(); ++i) {
      member.cells[member.input_at + i].value = given.input[i];
    }
  }
  for (Member& member : members_) {
    const auto where = [this, &member](const Slice& slice) {
      const std::uint64_t begin = locate(member, slice).value_or(0);
      return Ahead::Extent{begin, begin + slice.count};
    };
    const auto is_settled = [&member](std::size_t i) { return member.sent[i].is_taken; };
    member.ahead = std::make_unique<Ahead>(member.plan, 1, where, is_settled);
  }
}

Numbers PlanMachine::result(Rank rank) const {
  const Member& member = members_[rank];
  Numbers values;
  for (std::uint64_t i = 0; i < member.result_count; ++i) {
    values.push_back(member.cells[member.result_at + i].value);
  }
  return values;
}

std::optional<std::string> PlanMachine::run() {
  for (;;) {
    std::vector<Rank> ready;
    bool is_over = true;
    for (Rank rank = 0; rank < members_.size(); ++rank) {
      is_over = is_over && members_[rank].is_done();
      if (can_step(members_[rank], rank)) ready.push_back(rank);
    }
    if (ready.empty() && !is_over && !failure_) {
      for (Rank rank = 0; rank < members_.size(); ++rank) {
        if (!members_[rank].is_done()) fail(rank, "waits for ever");
      }
    }
    if (ready.empty() || failure_) break;
    step(pick(ready));
  }
  for (Rank rank = 0; rank < members_.size() && !failure_; ++rank) end(rank);
  return failure_;
}

// Often the same one again, so that some ranks run far ahead of others.
Rank PlanMachine::pick(const std::vector<Rank>& ready) {
  switch (random_() % 4) {
    case 0: return ready.front();
    case 1: return ready.back();
    default: return ready[random_() % ready.size()];
  }
}

void PlanMachine::step(Rank rank) {
  Member& member = members_[rank];
  const std::size_t runs = 1 + random_() % 4;
  for (std::size_t i = 0; i < runs && !failure_ && can_step(member, rank); ++i) {
    look_ahead(rank);
    land_some(rank);
    ++member.clock[rank];
    do_step(rank, member.plan.steps[member.next]);
    ++member.next;
  }
}

bool PlanMachine::can_step(const Member& member, Rank rank) const {
  if (member.is_done()) return false;
  const Step& step = member.plan.steps[member.next];
  switch (step.kind) {
    case Step::Kind::receive:
    case Step::Kind::receive_reduce: {
      const auto& mail = members_[step.peer].mail;
      const auto found = mail.find(rank);
      return found != mail.end() && !found->second.empty();
    }
    case Step::Kind::settle:
      for (std::size_t i = 0; i + step.phase < member.sent.size(); ++i) {
        if (!member.sent[i].is_taken) return false;
      }
      return true;
    case Step::Kind::wait:
      for (const Rank other : member.plan.groups[step.group]) {
        if (other != rank && !publication(members_[other], step.phase)) return false;
      }
      return true;
    default: return true;
  }
}

const PlanMachine::Publication* PlanMachine::publication(const Member& member,
                                                         std::uint32_t phase) const {
  for (const Publication& made : member.published) {
    if (made.phase >= phase) return &made;
  }
  return nullptr;
}

void PlanMachine::do_step(Rank rank, const Step& step) {
  Member& member = members_[rank];
  switch (step.kind) {
    case Step::Kind::send: return send(rank, step);
    case Step::Kind::receive:
    case Step::Kind::receive_reduce: return receive(rank, step);
    case Step::Kind::settle: return settle(rank, step.phase);
    case Step::Kind::copy:
      if (step.from.count != step.to.count) return fail(rank, "copies between unequal slices");
      if (locate(member, step.from) == locate(member, step.to)) return;
      return write(rank, step.to, read(rank, rank, step.from));
    case Step::Kind::reduce: {
      Numbers own = read(rank, rank, step.to);
      const Numbers other = read(rank, rank, step.from);
      if (own.size() != other.size()) return fail(rank, "reduces unequal slices");
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = step.is_left ? arithmetic_.combine(other[i], own[i])
                              : arithmetic_.combine(own[i], other[i]);
      }
      return write(rank, step.to, own);
    }
    case Step::Kind::finish: {
      Numbers values = read(rank, rank, step.to);
      for (Number& value : values) value = arithmetic_.finish(value);
      return write(rank, step.to, values);
    }
    case Step::Kind::publish:
      if (!member.published.empty() && member.published.back().phase >= step.phase) {
        return fail(rank, "goes back in its phases");
      }
      member.published.push_back({step.phase, member.clock});
      return;
    case Step::Kind::wait: return wait(rank, step);
    case Step::Kind::fetch:
      if (step.from.count != step.to.count) return fail(rank, "fetches an unequal slice");
      return write(rank, step.to, read(rank, step.peer, step.from));
    case Step::Kind::combine: return combine(rank, step);
  }
}

void PlanMachine::send(Rank rank, const Step& step) {
  Member& member = members_[rank];
  if (!locate(member, step.from)) return fail(rank, "sends what it does not have");
  member.mail[step.peer].push_back(member.sent.size());
  member.sent.push_back({.from = step.from,
                         .sent = member.clock,
                         .index = member.mailed[step.peer]++,
                         .has_landed = false,
                         .is_taken = false,
                         .taken = {}});
  land_some(step.peer);
}

void PlanMachine::look_ahead(Rank rank) {
  Member& member = members_[rank];
  if (!member.ahead->is_of_use()) return;
  while (const auto next = member.ahead->next(member.next)) {
    member.landings[{next->step->peer, next->index}] = next->step->to;
  }
}

void PlanMachine::land_some(Rank rank) {
  for (const auto& [from, to] : members_[rank].landings) {
    if (failure_ || random_() % 2 == 0) continue;
    Member& sender = members_[from.first];
    for (const std::size_t waiting : sender.mail[rank]) {
      Message& message = sender.sent[waiting];
      if (message.index == from.second && !message.has_landed) land(rank, to, message, from.first);
    }
  }
}

// What the message's sender had seen is over, and so is the reading of what was sent.
void PlanMachine::land(Rank rank, const Slice& to, Message& message, Rank sender) {
  if (message.from.count != to.count) return fail(rank, "gets a message of another size");
  Member& member = members_[rank];
  const Clock before = member.clock;
  join(member.clock, message.sent);
  const Numbers came = read(rank, sender, message.from, true);
  for (const Message& own : member.sent) {
    if (own.is_taken) join(member.clock, own.taken);
  }
  write(rank, to, came);
  message.taken = member.clock;
  message.is_taken = message.has_landed = true;
  member.clock = before;
  ++landed_;
}

void PlanMachine::receive(Rank rank, const Step& step) {
  Member& sender = members_[step.peer];
  auto& mail = sender.mail[rank];
  Message& message = sender.sent[mail.front()];
  mail.pop_front();
  if (message.from.count != step.to.count) return fail(rank, "gets a message of another size");
  join(members_[rank].clock, message.sent);
  members_[rank].landings.erase({step.peer, message.index});
  if (message.has_landed) return;
  const Numbers came = read(rank, step.peer, message.from, true);
  if (step.kind == Step::Kind::receive) {
    write(rank, step.to, came);
  } else {
    Numbers own = read(rank, rank, step.from);
    if (own.size() != came.size()) return fail(rank, "reduces unequal slices");
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = step.is_left ? arithmetic_.combine(came[i], own[i])
                            : arithmetic_.combine(own[i], came[i]);
    }
    write(rank, step.to, own);
  }
  message.is_taken = true;
  message.taken = members_[rank].clock;
}

void PlanMachine::settle(Rank rank, std::uint32_t kept) {
  Member& member = members_[rank];
  for (std::size_t i = 0; i + kept < member.sent.size(); ++i) {
    join(member.clock, member.sent[i].taken);
  }
}

void PlanMachine::wait(Rank rank, const Step& step) {
  Member& member = members_[rank];
  for (const Rank other : member.plan.groups[step.group]) {
    if (other != rank) join(member.clock, publication(members_[other], step.phase)->clock);
  }
}

void PlanMachine::combine(Rank rank, const Step& step) {
  Numbers sum;
  bool is_first = true;
  for (const Rank other : members_[rank].plan.groups[step.group]) {
    const Numbers next = read(rank, other, step.from);
    if (failure_) return;
    for (std::size_t i = 0; i < next.size() && !is_first; ++i) {
      sum[i] = arithmetic_.combine(sum[i], next[i]);
    }
    if (is_first) sum = next;
    is_first = false;
  }
  if (sum.size() != step.to.count) return fail(rank, "combines into an unequal slice");
  if (step.is_final) {
    for (Number& value : sum) value = arithmetic_.finish(value);
  }
  write(rank, step.to, sum);
}

std::optional<std::uint64_t> PlanMachine::locate(const Member& owner, const Slice& slice) const {
  std::uint64_t at = 0;
  std::uint64_t count = 0;
  switch (slice.place) {
    case Place::input: at = owner.input_at, count = owner.input_count; break;
    case Place::result: at = owner.result_at, count = owner.result_count; break;
    case Place::scratch: at = owner.scratch_at, count = owner.plan.scratch; break;
    case Place::window: at = owner.window_at, count = owner.plan.window; break;
  }
  if (slice.offset + slice.count > count) return std::nullopt;
  return at + slice.offset;
}

Numbers PlanMachine::read(Rank reader, Rank owner, const Slice& slice, bool is_message) {
  Member& there = members_[owner];
  const auto at = locate(there, slice);
  Numbers values;
  if (!at) {
    fail(reader, "reads beyond a place of rank " + std::to_string(owner));
    return values;
  }
  const Clock& clock = members_[reader].clock;
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    Cell& cell = there.cells[*at + i];
    if (cell.written > clock[cell.writer]) {
      fail(reader, "reads what rank " + std::to_string(cell.writer) + " may be writing");
    }
    cell.read[reader] = clock[reader];
    values.push_back(cell.value);
  }
  const bool is_callers = slice.place == Place::input || slice.place == Place::result;
  if (!is_message && reader != owner && is_callers && !there.plan.is_exposed) {
    fail(reader, "reads memory that is not exposed");
  }
  return values;
}

void PlanMachine::write(Rank writer, const Slice& slice, const Numbers& values) {
  if (failure_) return;
  Member& member = members_[writer];
  const auto at = locate(member, slice);
  if (!at || values.size() != slice.count) return fail(writer, "writes beyond its memory");
  if (slice.place == Place::input) return fail(writer, "writes to its input");
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    Cell& cell = member.cells[*at + i];
    for (Rank reader = 0; reader < members_.size(); ++reader) {
      if (reader != writer && cell.read[reader] > member.clock[reader]) {
        return fail(writer, "writes what rank " + std::to_string(reader) + " may be reading");
      }
    }
    cell.value = values[i];
    cell.writer = writer;
    cell.written = member.clock[writer];
  }
}

// Nobody may still read the caller's memory, and no message is left over.
void PlanMachine::end(Rank rank) {
  const Member& member = members_[rank];
  for (std::uint64_t i = 0; i < member.window_at; ++i) {
    for (Rank reader = 0; reader < members_.size(); ++reader) {
      if (reader != rank && member.cells[i].read[reader] > member.clock[reader]) {
        return fail(rank, "leaves while rank " + std::to_string(reader) + " may be reading");
      }
    }
  }
  for (const auto& [peer, mail] : member.mail) {
    if (!mail.empty()) return fail(rank, "sent more than rank " + std::to_string(peer) + " took");
  }
}

void PlanMachine::fail(Rank rank, const std::string& what) {
  if (failure_) return;
  const Member& member = members_[rank];
  failure_ = "rank " + std::to_string(rank) + ", step " + std::to_string(member.next) + " of " +
             std::to_string(member.plan.steps.size()) + ": " + what;
}

void PlanMachine::join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace muster::collectives::testing
