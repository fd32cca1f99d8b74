#include "muster/msg/flat_map.h"

#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "muster/msg/event_map.h"

namespace muster::msg {
namespace {

// All keys of one of four places: neighbours that are in each other's way.
struct CrowdedHash {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key % 4); }
};

RC_GTEST_PROP(FlatMap, DoesAsAMapDoes, (const std::vector<std::pair<bool, int>>& steps)) {
  FlatMap<int, std::string, CrowdedHash> flat;
  std::map<int, std::string> naive;
  for (const auto& [adds, number] : steps) {
    const int key = std::abs(number % 40);
    if (adds) {
      flat[key] = naive[key] = std::to_string(number);
    } else {
      flat.erase(key);
      naive.erase(key);
    }
    RC_ASSERT(flat.size() == naive.size());
    for (int each = 0; each < 40; ++each) {
      const std::string* const found = flat.find(each);
      const auto expected = naive.find(each);
      RC_ASSERT((found != nullptr) == (expected != naive.end()));
      if (found != nullptr) RC_ASSERT(*found == expected->second);
    }
  }
  RC_ASSERT((std::map<int, std::string>(flat.begin(), flat.end()) == naive));
}

TEST(FlatMap, FindsTextWithoutAStringOfIt) {
  EventMap<int> map;
  for (int i = 0; i < 1000; ++i) map["worker_" + std::to_string(i)] = i;
  EXPECT_EQ(map.size(), 1000U);
  EXPECT_EQ(*map.find(std::string_view("worker_999")), 999);
  EXPECT_EQ(map.find(std::string_view("worker_1000")), nullptr);
}

TEST(FlatMap, FindsNothingWhileItIsEmpty) {
  EventMap<int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(std::string_view("a")), nullptr);
  map.erase(std::string_view("a"));
  map[std::string_view("a")] = 1;
  map.erase(std::string_view("a"));
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(std::string_view("a")), nullptr);
}

}  // namespace
}  // namespace muster::msg
