#pragma once
#include <string_view>

namespace attn::models {

/// Files of data/models that the program holds, byte for byte (see shipped.S).
extern const std::string_view stories_bin;
extern const std::string_view stories_tokenizer;
extern const std::string_view sorter_json;

}  // namespace attn::models
