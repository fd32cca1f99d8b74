#include "apps/muster/json.h"

#include <fmt/format.h>

namespace muster::app {

using wire::Value;

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string to_json(const Value& value) {
  if (const auto truth = value.as_bool()) return *truth ? "true" : "false";
  if (const auto number = value.as_integer()) return std::to_string(*number);
  if (const auto number = value.as_unsigned()) return std::to_string(*number);
  if (const auto number = value.as_real()) return fmt::format("{:.6g}", *number);
  if (const std::string* text = value.as_string()) return json_string(*text);
  std::string out;
  if (const Value::List* list = value.as_list()) {
    for (const Value& one : *list) out += (out.empty() ? "" : ",") + to_json(one);
    return "[" + out + "]";
  }
  if (const Value::Map* map = value.as_map()) {
    for (const auto& [key, held] : *map) {
      out += (out.empty() ? "" : ",") + to_json(key) + ":" + to_json(held);
    }
    return "{" + out + "}";
  }
  return "null";
}

}  // namespace muster::app
