// Explorer: goes through the interleavings of a program, for model.h.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "muster/loop/testing/fiber.h"
#include "muster/loop/testing/model.h"

namespace muster::loop::testing {
namespace exploring {

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

struct NamedMemory {
  std::uintptr_t begin;
  std::size_t size;
  std::string name;
};

}  // namespace exploring

class Explorer {
  using Access = exploring::Access;
  using Candidate = exploring::Candidate;
  using Choice = exploring::Choice;
  using NamedMemory = exploring::NamedMemory;
  using Node = exploring::Node;
  using Step = exploring::Step;
  using Thread = exploring::Thread;
  static constexpr int kNone = exploring::kNone;

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

}  // namespace muster::loop::testing
