#pragma once
#include <string>

namespace attn {

/// `1.23 ms`: three digits and the unit that suits them, from ns to s.
std::string time_text(double seconds);

/// `4.19 MB`: three digits, units of 1000.
std::string bytes_text(double bytes);

}  // namespace attn
