// What stands in a token file: what is read, written again, is read the same.

#include <cstdint>
#include <string_view>

#include "muster/base/check.h"
#include "muster/net/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<net::TokenList> list = net::parse_token_list(text);
  if (!list) return 0;
  MUSTER_CHECK(!list->empty() && list->size() <= net::kMaxGenerations, "generations in bounds");
  const Result<net::TokenList> again = net::parse_token_list(net::reveal_token_list(*list));
  MUSTER_CHECK(again && *again == *list, "a list has one form");
  MUSTER_CHECK(!net::accepted_at(*list, 0).empty(), "the newest is always accepted");
  return 0;
}
