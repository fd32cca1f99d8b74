// Runs small concurrent programs under every interleaving.
//
// Code that is a template over an Env (Baton, Inbox, Doorbell) is run with
// ModelEnv on virtual threads of one real thread. Before each access to an
// atomic the scheduler chooses who goes on; explore() goes through all choices,
// depth first, by running the program again and again. Runs that differ only
// in the order of accesses that do not touch the same object are left out
// (sleep sets), or, for a program with a digest, all that lead to a state that
// was seen before. Neither loses a deadlock or a failed expectation.
//
// Modelled: sequential consistency and, on request, store buffers as on x86
// (TSO): a store that is not seq_cst stays in its thread's buffer for as long
// as the scheduler likes, invisible to others. A sleep that nobody ends is a
// deadlock. Not modelled: reordered loads, weak exchanges that fail for no
// reason.

#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace muster::loop::testing {

// One program: built anew for each run, on plain and ModelEnv's objects.
struct Program {
  std::vector<std::function<void()>> threads = {};
  std::function<void()> finally = nullptr;  // After all threads have ended. May be empty.
  // May be empty. A number for all plain data that several threads change, so
  // that two states can be told apart; what one thread alone changes follows
  // from what it has read.
  std::function<std::uint64_t()> digest = nullptr;
};

struct ModelOptions {
  bool store_buffers = false;
  // How often a thread that could go on may be interrupted; below 0: always.
  // For programs that are too large for all interleavings.
  int preemptions = -1;
  std::uint64_t most_runs = 20'000'000;
};

struct Outcome {
  bool is_ok = false;
  std::uint64_t runs = 0;
  std::uint64_t redundant_runs = 0;  // Of them, those that turned out to be no new ones.
  std::string transcript;            // Of the run that failed: why, then step by step.
};

// Not reentrant. `make` makes all atomics there are, and does the same each time.
Outcome explore(const std::function<Program()>& make, const ModelOptions& options = {});

// Inside a program: ends the run as a failure unless `condition` holds.
void expect(bool condition, std::string_view what);

// Inside `make`: what the atomics within `object` are called in transcripts.
void name_memory(const void* begin, std::size_t size, std::string name);
template <class T>
void name(const T& object, std::string text) {
  name_memory(&object, sizeof object, std::move(text));
}

// One word of modelled memory, of any atomic's type.
class ModelCell {
 public:
  explicit ModelCell(std::uint64_t value, bool is_pointer = false);
  ModelCell(const ModelCell&) = delete;
  ModelCell& operator=(const ModelCell&) = delete;

  std::uint64_t load() const;
  void store(std::uint64_t value, std::memory_order order);
  // An atomic read and write: gets the old value, gives the new one. `what` is
  // for transcripts.
  std::uint64_t update(const char* what, const std::function<std::uint64_t(std::uint64_t)>& next);

  void wait(std::uint64_t expected);
  void wake_one();
  // Sleeps until it is not 0 and makes it 0.
  void consume();

 private:
  friend class Explorer;
  mutable std::uint64_t value_;
  bool is_pointer_;
  std::uint32_t number_;  // The same in every run.
};

// What of std::atomic is used.
template <class T>
class ModelAtomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  ModelAtomic(T value = T{}) : cell_(pack(value), std::is_pointer_v<T>) {}

  T load(std::memory_order = std::memory_order_seq_cst) const { return unpack(cell_.load()); }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    cell_.store(pack(value), order);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return unpack(cell_.update("exchange", [&](std::uint64_t) { return pack(value); }));
  }
  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst)
    requires std::integral<T>
  {
    return unpack(cell_.update(
        "add", [&](std::uint64_t old) { return pack(static_cast<T>(unpack(old) + by)); }));
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst) {
    const std::uint64_t old = cell_.update("compare_exchange", [&](std::uint64_t now) {
      return now == pack(expected) ? pack(value) : now;
    });
    const bool is_equal = old == pack(expected);
    expected = unpack(old);
    return is_equal;
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order = std::memory_order_seq_cst,
                             std::memory_order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value);
  }

  ModelCell& cell() { return cell_; }

 private:
  static std::uint64_t pack(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<std::uintptr_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
  static T unpack(std::uint64_t bits) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(static_cast<std::uintptr_t>(bits));
    } else {
      return static_cast<T>(bits);
    }
  }

  ModelCell cell_;
};

// An eventfd that is watched by one: set() is seen by the next await().
class ModelEvent {
 public:
  void set() {
    cell_.update("set", [](std::uint64_t) { return 1; });
  }
  void await() { cell_.consume(); }

 private:
  ModelCell cell_{0};
};

struct ModelEnv {
  template <class T>
  using Atomic = ModelAtomic<T>;

  // No address comes twice in a run: whether it does would differ between runs.
  struct Heap {
    static void* operator new(std::size_t size);
    static void operator delete(void* memory);
  };

  static void wait(Atomic<std::uint32_t>& word, std::uint32_t expected) {
    word.cell().wait(expected);
  }
  static void wake_one(Atomic<std::uint32_t>& word) { word.cell().wake_one(); }
  static void relax() {}
  static void yield() {}
  static constexpr int kPatience = 1;  // More looks are more of the same.
};

// For programs of three threads: who does not get it at once, sleeps.
struct HastyModelEnv : ModelEnv {
  static constexpr int kPatience = 0;
};

}  // namespace muster::loop::testing
