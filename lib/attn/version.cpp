#include "attn/version.hpp"

namespace attn {

std::string_view version() { return ATTN_VERSION; }

}  // namespace attn
