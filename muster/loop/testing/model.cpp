#include "muster/loop/testing/model.h"

#include <utility>

#include "muster/base/check.h"
#include "muster/loop/testing/explorer.h"

namespace muster::loop::testing {

using exploring::Access;
using exploring::Kind;

namespace {
Explorer* explorer = nullptr;
}  // namespace

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
