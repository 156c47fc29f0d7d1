#pragma once
#include <string>
#include <string_view>

namespace attn::models {

/// Files of data/models that the program holds, byte for byte (see shipped.S).
extern const std::string_view stories_bin;
extern const std::string_view stories_tokenizer;
extern const std::string_view sorter_json;

/// stories_bin and stories_tokenizer one behind the other, as zlib packs them. Of each four bytes
/// the bits are turned once to the left, so that the exponent of a float is a byte of its own, and
/// then stand all first bytes, all second ones, and so on: exponents are much alike.
std::string packed_stories();

}  // namespace attn::models
