#include "tests/support/build.hpp"

namespace build {

const char* const program = ATTN_PROGRAM;
const char* const starved = ATTN_STARVED;
const char* const reference_folder = ATTN_REFERENCE_DIR;
const bool is_sanitized = ATTN_IS_SANITIZED;

}  // namespace build
