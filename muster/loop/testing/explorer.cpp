#include "muster/loop/testing/explorer.h"

#include <algorithm>
#include <utility>

namespace muster::loop::testing {

using exploring::Access;
using exploring::Buffered;
using exploring::Candidate;
using exploring::Choice;
using exploring::Kind;
using exploring::kNone;
using exploring::Thread;

namespace {

std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Values may be hashes themselves, so the two sides are treated differently:
// equal ones must not cancel.
std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  return scramble(state * 3 + scramble(value + 0x9e3779b97f4a7c15u));
}

// Fibers whose run failed stay as they are, to the end of the process: what
// their stacks own is not freed, so it must stay reachable.
std::vector<Thread>& graveyard() {
  static std::vector<Thread>& threads = *std::make_unique<std::vector<Thread>>().release();
  return threads;
}

}  // namespace

Outcome Explorer::explore(const std::function<Program()>& make) {
  Outcome outcome;
  do {
    run(make);
    ++outcome.runs;
    if (is_free_) ++outcome.redundant_runs;
    if (!failure_ && outcome.runs >= options_.most_runs) failure_ = "too many interleavings";
    if (failure_) {
      outcome.transcript = transcript();
      std::ranges::move(threads_, std::back_inserter(graveyard()));
      return outcome;
    }
  } while (backtrack());
  outcome.is_ok = true;
  return outcome;
}

void Explorer::free_dead() {
  for (void* memory : dead_) ::operator delete(memory);
  dead_.clear();
}

void Explorer::run(const std::function<Program()>& make) {
  free_dead();
  cells_.clear();
  names_.clear();
  steps_.clear();
  depth_ = 0;
  is_free_ = false;
  pointers_.clear();
  const Program program = make();
  digest_ = program.digest;
  start(program);
  for (;;) {
    run_local_accesses();
    if (failure_) return;
    std::vector<Candidate> open = enabled();
    if (open.empty()) break;
    execute(choose(std::move(open)).choice);
  }
  const bool all_ended =
      std::ranges::all_of(threads_, [](const Thread& thread) { return thread.fiber->has_ended(); });
  if (!all_ended) return fail(describe_stuck());
  if (program.finally) program.finally();
  digest_ = nullptr;  // It holds what the program was made of.
}

void Explorer::start(const Program& program) {
  while (threads_.size() < program.threads.size()) {
    threads_.emplace_back().fiber = std::make_unique<Fiber>();
  }
  for (std::size_t i = 0; i < program.threads.size(); ++i) {
    threads_[i].access = {};
    threads_[i].history = 0;
    threads_[i].allocations = 0;
    threads_[i].fiber->start(program.threads[i]);
  }
}

// What touches nothing that others see needs no choice.
void Explorer::run_local_accesses() {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    while (!failure_ && !thread.fiber->has_ended() && !thread.is_asleep &&
           (thread.access.kind == Kind::local || is_buffered(thread.access))) {
      if (is_buffered(thread.access)) {
        thread.buffer.push_back({thread.access.cell, thread.access.value});
        record(static_cast<int>(i), thread.access, thread.access.cell->value_);
      }
      resume(static_cast<int>(i));
    }
  }
}

void Explorer::allocated(const void* memory) {
  if (!is_inside()) return;
  const std::uint64_t number = ++threads_[running_].allocations;
  pointers_[reinterpret_cast<std::uintptr_t>(memory)] = mix(running_ + 1, number);
}

std::uint64_t Explorer::same_in_every_run(const ModelCell& cell, std::uint64_t value) const {
  if (!cell.is_pointer_) return value;
  const auto found = pointers_.find(value);
  return found == pointers_.end() ? 0 : found->second;
}

std::uint64_t Explorer::state() const {
  std::uint64_t hash = digest_();
  for (const ModelCell* cell : cells_) hash = mix(hash, same_in_every_run(*cell, cell->value_));
  for (const Thread& thread : threads_) {
    hash = mix(hash, thread.history);
    hash = mix(hash, thread.is_asleep ? 1 : 2);
    for (const Buffered& store : thread.buffer) {
      hash = mix(hash, same_in_every_run(*store.cell, store.value));
    }
    hash = mix(hash, thread.buffer.size());
  }
  return hash;
}

void Explorer::resume(int thread) {
  running_ = thread;
  const Access& done = threads_[thread].access;
  if (done.cell != nullptr) {
    const std::uint64_t read = same_in_every_run(*done.cell, threads_[thread].result);
    threads_[thread].history = mix(threads_[thread].history, read + 1);
  }
  threads_[thread].access = {};
  threads_[thread].fiber->resume();
  running_ = kNone;
}

bool Explorer::is_buffered(const Access& access) const {
  return options_.store_buffers && access.kind == Kind::store;
}

std::uint64_t Explorer::perform(Access access) {
  Thread& me = threads_[running_];
  me.access = access;
  me.fiber->pause();
  return me.result;
}

void Explorer::fail(std::string why) {
  if (!failure_) failure_ = std::move(why);
  if (is_inside()) threads_[running_].fiber->pause();  // For ever.
}

std::uint64_t Explorer::apply(const Access& access) {
  const std::uint64_t old = access.cell->value_;
  if (access.kind == Kind::store) access.cell->value_ = access.value;
  if (access.kind == Kind::consume) access.cell->value_ = 0;
  if (access.kind == Kind::update) access.cell->value_ = (*access.next)(old);
  return old;
}

void Explorer::execute(const Choice& choice) {
  Thread& thread = threads_[choice.thread];
  if (choice.is_drain) return drain(thread, choice.thread);
  const Access access = thread.access;
  if (access.kind == Kind::wait && access.cell->value_ == access.value) {
    thread.is_asleep = true;
    return record(choice.thread, access, access.value);
  }
  thread.result = apply(access);
  if (access.kind == Kind::load) {
    // A thread sees its own stores before others do.
    for (const Buffered& store : thread.buffer) {
      if (store.cell == access.cell) thread.result = store.value;
    }
  }
  record(choice.thread, access, thread.result, choice.woken);
  if (choice.woken != kNone) {
    threads_[choice.woken].is_asleep = false;
    threads_[choice.woken].access = {};
  }
  resume(choice.thread);
}

void Explorer::drain(Thread& thread, int number) {
  const Buffered store = thread.buffer.front();
  thread.buffer.pop_front();
  const Access access{Kind::drain, store.cell, store.value, "lands", nullptr};
  const std::uint64_t before = std::exchange(store.cell->value_, store.value);
  record(number, access, before);
}

void Explorer::record(int thread, const Access& access, std::uint64_t before, int woken) {
  steps_.push_back({thread, access.kind, access.what, access.cell->number_, before,
                    access.kind == Kind::store ? access.value : access.cell->value_, woken});
}

}  // namespace muster::loop::testing
