// The texts of events: quoting, durations, and errors that point at a character.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/error.h"

namespace muster::msg {

// Whether `c` may stand in a source or a tag without quotes.
bool is_event_letter(char c);

// Whether `word` means something of its own where a unit may begin: and, or,
// distinct, within.
bool is_event_keyword(std::string_view word);

// `text` as it is read back as a source or a tag.
std::string quote_event_text(std::string_view text);

// "500ms", "30s", "2min", "1h": the largest unit that is exact.
std::string event_duration_text(Duration duration);

// Code::invalid: "read the event: character N: `why`", and beneath it the part
// of `text` around byte `at` with a caret under it.
Error event_error(std::string_view text, std::size_t at, std::string_view why);

}  // namespace muster::msg
