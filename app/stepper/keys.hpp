#pragma once
#include <string>

namespace app {

/// One key as it was pressed: a character, or the name of a key without one.
struct Key {
    std::string name;  ///< `n`, `ä`, `Enter`, `Shift-Tab`, `Resize`; empty for a key of no use
    bool is_character = false;
};

/// Waits for a key.
Key read_key();

}  // namespace app
