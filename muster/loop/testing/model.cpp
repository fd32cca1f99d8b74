#include "muster/loop/testing/model.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "muster/base/check.h"
#include "muster/loop/testing/fiber.h"

namespace muster::loop::testing {
namespace {

enum class Kind : std::uint8_t { local, load, store, update, wait, wake, consume, drain };

// What a thread will do when it is next chosen.
struct Access {
  Kind kind = Kind::local;
  ModelCell* cell = nullptr;
  std::uint64_t value = 0;
  const char* what = "";
  const std::function<std::uint64_t(std::uint64_t)>* next = nullptr;
};

struct Buffered {
  ModelCell* cell;
  std::uint64_t value;
};

struct Thread {
  std::unique_ptr<Fiber> fiber;
  Access access;
  std::uint64_t result = 0;
  bool is_asleep = false;
  std::deque<Buffered> buffer;
  std::uint64_t history = 0;  // A hash of all that it has read: its whole state.
  int allocations = 0;
};

constexpr int kNone = -1;

// One thing that the scheduler can let happen.
struct Choice {
  int thread = 0;
  bool is_drain = false;  // The oldest store of the thread's buffer lands.
  int woken = kNone;      // For a wake: whom.
  bool operator==(const Choice&) const = default;
};

// What it touches. By number, which is the same in every run.
struct Footprint {
  int thread = 0;
  std::uint32_t cell = 0;
  bool is_write = false;
};

bool are_independent(const Footprint& a, const Footprint& b) {
  if (a.thread == b.thread) return false;
  return a.cell != b.cell || (!a.is_write && !b.is_write);
}

struct Candidate {
  Choice choice;
  Footprint footprint;
};

// A place where the scheduler had to choose.
struct Node {
  std::vector<Candidate> candidates;
  std::size_t current = 0;
  std::vector<Candidate> asleep;  // Explored elsewhere: nothing new comes of them here.
  int last_thread = kNone;
  int preemptions = 0;
};

struct Step {
  int thread;
  Kind kind;
  const char* what;
  std::uint32_t cell;
  std::uint64_t before;
  std::uint64_t after;
  int woken;
};

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

struct NamedMemory {
  std::uintptr_t begin;
  std::size_t size;
  std::string name;
};

// Fibers whose run failed stay as they are, to the end of the process: what
// their stacks own is not freed, so it must stay reachable.
std::vector<Thread>& graveyard() {
  static std::vector<Thread>& threads = *std::make_unique<std::vector<Thread>>().release();
  return threads;
}

}  // namespace

class Explorer {
 public:
  explicit Explorer(const ModelOptions& options) : options_(options) {}
  ~Explorer() { free_dead(); }

  Outcome explore(const std::function<Program()>& make);

  // From inside a fiber.
  std::uint64_t perform(Access access);
  void fail(std::string why);
  bool is_inside() const { return running_ != kNone; }

  std::uint32_t add(const ModelCell& cell) {
    cells_.push_back(&cell);
    return static_cast<std::uint32_t>(cells_.size() - 1);
  }
  void name_memory(NamedMemory memory) { names_.push_back(std::move(memory)); }
  void free_later(void* memory) { dead_.push_back(memory); }
  void allocated(const void* memory);

  // What any access does at once, outside of a fiber.
  static std::uint64_t apply(const Access& access);

 private:
  void run(const std::function<Program()>& make);
  void start(const Program& program);
  void free_dead();
  std::uint64_t state() const;
  std::uint64_t same_in_every_run(const ModelCell& cell, std::uint64_t value) const;
  void run_local_accesses();
  void resume(int thread);
  std::vector<Candidate> enabled();
  void add_enabled(int thread, std::vector<Candidate>& out);
  Candidate choose(std::vector<Candidate> enabled);
  std::optional<Candidate> at_new_node(const std::vector<Candidate>& enabled);
  std::vector<Candidate> asleep_after(const Node& parent) const;
  void leave_out_seen(Node& node, std::vector<Choice> slept);
  void execute(const Choice& choice);
  void drain(Thread& thread, int number);
  void record(int thread, const Access& access, std::uint64_t before, int woken = kNone);
  bool backtrack();
  bool is_buffered(const Access& access) const;
  std::string describe_stuck() const;
  std::string transcript() const;
  std::string name_of(std::uint32_t cell) const;

  ModelOptions options_;
  std::vector<Thread> threads_;
  std::vector<const ModelCell*> cells_;
  std::vector<NamedMemory> names_;
  std::vector<Node> path_;
  std::size_t depth_ = 0;
  bool is_free_ = false;  // Past what is new: only runs to its end.
  std::size_t turn_ = 0;
  int running_ = kNone;
  std::optional<std::string> failure_;
  std::vector<Step> steps_;
  std::vector<void*> dead_;
  std::function<std::uint64_t()> digest_;
  // States, and what was not followed there because it was explored elsewhere.
  std::unordered_map<std::uint64_t, std::vector<Choice>> seen_;
  std::unordered_map<std::uint64_t, std::uint64_t> pointers_;  // To what is the same in every run.
};

namespace {
Explorer* explorer = nullptr;
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

std::vector<Candidate> Explorer::enabled() {
  std::vector<Candidate> out;
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) add_enabled(i, out);
  return out;
}

void Explorer::add_enabled(int thread, std::vector<Candidate>& out) {
  const Thread& it = threads_[thread];
  if (!it.buffer.empty()) {
    const Footprint lands{thread, it.buffer.front().cell->number_, true};
    out.push_back({{thread, true, kNone}, lands});
  }
  if (it.fiber->has_ended() || it.is_asleep) return;
  const bool is_read = it.access.kind == Kind::load;
  // All but a load is a full barrier: it waits for the buffer to be empty.
  if (!is_read && !it.buffer.empty()) return;
  if (it.access.kind == Kind::consume && it.access.cell->value_ == 0) return;
  const Footprint footprint{thread, it.access.cell->number_, !is_read};
  bool wakes = false;
  if (it.access.kind == Kind::wake) {
    for (int other = 0; other < static_cast<int>(threads_.size()); ++other) {
      if (!threads_[other].is_asleep || threads_[other].access.cell != it.access.cell) continue;
      out.push_back({{thread, false, other}, footprint});
      wakes = true;
    }
  }
  if (!wakes) out.push_back({{thread, false, kNone}, footprint});
}

Candidate Explorer::choose(std::vector<Candidate> enabled) {
  const std::size_t depth = depth_++;
  if (!is_free_ && depth < path_.size()) {
    const Node& node = path_[depth];
    const Candidate& wanted = node.candidates[node.current];
    const bool is_there = std::ranges::any_of(
        enabled, [&](const Candidate& it) { return it.choice == wanted.choice; });
    MUSTER_CHECK(is_there, "a program under test does the same in every run");
    return wanted;
  }
  if (!is_free_) {
    if (std::optional<Candidate> chosen = at_new_node(enabled)) return *chosen;
    is_free_ = true;
  }
  return enabled[turn_++ % enabled.size()];
}

std::optional<Candidate> Explorer::at_new_node(const std::vector<Candidate>& enabled) {
  Node node;
  if (!path_.empty()) {
    const Node& parent = path_.back();
    const Choice& before = parent.candidates[parent.current].choice;
    node.last_thread = before.thread;
    node.preemptions = parent.preemptions;
    const bool went_on = parent.last_thread == before.thread || before.is_drain;
    const bool could_go_on = std::ranges::any_of(parent.candidates, [&](const Candidate& it) {
      return it.choice.thread == parent.last_thread && !it.choice.is_drain;
    });
    if (before.is_drain) node.last_thread = parent.last_thread;
    if (!went_on && could_go_on) ++node.preemptions;
    if (options_.preemptions < 0) node.asleep = asleep_after(parent);
  }
  const bool is_bound = options_.preemptions >= 0 && node.preemptions >= options_.preemptions;
  std::vector<Choice> slept;
  for (const Candidate& it : enabled) {
    const bool is_known = std::ranges::any_of(
        node.asleep, [&](const Candidate& other) { return other.choice == it.choice; });
    if (is_known) {
      slept.push_back(it.choice);
    } else {
      node.candidates.push_back(it);
    }
  }
  if (digest_ && options_.preemptions < 0) leave_out_seen(node, std::move(slept));
  if (is_bound) {
    const auto stays = [&](const Candidate& it) {
      return it.choice.thread == node.last_thread && !it.choice.is_drain;
    };
    if (std::ranges::any_of(node.candidates, stays)) {
      std::erase_if(node.candidates, [&](const Candidate& it) { return !stays(it); });
    }
  }
  if (node.candidates.empty()) return std::nullopt;
  path_.push_back(std::move(node));
  return path_.back().candidates.front();
}

// A state that was seen needs only what was left out when it was seen.
void Explorer::leave_out_seen(Node& node, std::vector<Choice> slept) {
  const auto [found, is_new] = seen_.try_emplace(state(), slept);
  if (is_new) return;
  const auto has = [](const std::vector<Choice>& all, const Choice& one) {
    return std::ranges::find(all, one) != all.end();
  };
  std::erase_if(node.candidates,
                [&](const Candidate& it) { return !has(found->second, it.choice); });
  std::erase_if(found->second, [&](const Choice& it) { return !has(slept, it); });
}

std::vector<Candidate> Explorer::asleep_after(const Node& parent) const {
  const Candidate& taken = parent.candidates[parent.current];
  std::vector<Candidate> out;
  const auto keep = [&](const Candidate& it) {
    if (are_independent(it.footprint, taken.footprint)) out.push_back(it);
  };
  std::ranges::for_each(parent.asleep, keep);
  for (std::size_t i = 0; i < parent.current; ++i) keep(parent.candidates[i]);
  return out;
}

bool Explorer::backtrack() {
  while (!path_.empty()) {
    if (++path_.back().current < path_.back().candidates.size()) return true;
    path_.pop_back();
  }
  return false;
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

std::string Explorer::describe_stuck() const {
  std::ostringstream out;
  out << "deadlock:";
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].fiber->has_ended()) out << " thread " << i;
  }
  out << " sleeps and nobody is left to wake it";
  return out.str();
}

std::string Explorer::name_of(std::uint32_t cell) const {
  const auto address = reinterpret_cast<std::uintptr_t>(cells_[cell]);
  for (const NamedMemory& memory : names_) {
    if (address >= memory.begin && address < memory.begin + memory.size) return memory.name;
  }
  return "word" + std::to_string(cell);
}

std::string Explorer::transcript() const {
  std::ostringstream out;
  out << *failure_ << '\n';
  for (const Step& step : steps_) {
    for (int i = 0; i < step.thread; ++i) out << "                              ";
    out << step.thread << ": " << name_of(step.cell) << ' ' << step.what << ' ' << std::hex;
    if (step.kind == Kind::load || step.before == step.after) {
      out << step.before;
    } else {
      out << step.before << " -> " << step.after;
    }
    out << std::dec;
    if (step.woken != kNone) out << ", thread " << step.woken;
    out << '\n';
  }
  return out.str();
}

Outcome explore(const std::function<Program()>& make, const ModelOptions& options) {
  MUSTER_CHECK(explorer == nullptr, "one exploration at a time");
  Explorer here(options);
  explorer = &here;
  Outcome outcome = here.explore(make);
  explorer = nullptr;
  return outcome;
}

void expect(bool condition, std::string_view what) {
  if (!condition) explorer->fail(std::string(what));
}

void name_memory(const void* begin, std::size_t size, std::string name) {
  explorer->name_memory({reinterpret_cast<std::uintptr_t>(begin), size, std::move(name)});
}

namespace {

std::uint64_t perform(const Access& access) {
  if (explorer == nullptr || !explorer->is_inside()) return Explorer::apply(access);
  return explorer->perform(access);
}

}  // namespace

ModelCell::ModelCell(std::uint64_t value, bool is_pointer)
    : value_(value), is_pointer_(is_pointer), number_(explorer->add(*this)) {}

std::uint64_t ModelCell::load() const {
  return perform({Kind::load, const_cast<ModelCell*>(this), 0, "read", nullptr});
}

void ModelCell::store(std::uint64_t value, std::memory_order order) {
  // A seq_cst store is an exchange on x86: it waits for the buffer.
  if (order != std::memory_order_seq_cst) {
    perform({Kind::store, this, value, "store", nullptr});
    return;
  }
  update("store (full)", [&](std::uint64_t) { return value; });
}

std::uint64_t ModelCell::update(const char* what,
                                const std::function<std::uint64_t(std::uint64_t)>& next) {
  return perform({Kind::update, this, 0, what, &next});
}

void ModelCell::wait(std::uint64_t expected) {
  perform({Kind::wait, this, expected, "sleep while", nullptr});
}

void* ModelEnv::Heap::operator new(std::size_t size) {
  void* const memory = ::operator new(size);
  explorer->allocated(memory);
  return memory;
}

void ModelEnv::Heap::operator delete(void* memory) { explorer->free_later(memory); }

void ModelCell::consume() { perform({Kind::consume, this, 0, "await", nullptr}); }

void ModelCell::wake_one() { perform({Kind::wake, this, 0, "wake", nullptr}); }

}  // namespace muster::loop::testing
