#include "attn/models/open_model.hpp"

extern "C" {
extern const char attn_stories_begin[], attn_stories_end[];
extern const char attn_stories_tokenizer_begin[], attn_stories_tokenizer_end[];
extern const char attn_sorter_begin[], attn_sorter_end[];
}

namespace attn::models {

const std::string_view stories_bin(attn_stories_begin, attn_stories_end - attn_stories_begin);
const std::string_view stories_tokenizer(attn_stories_tokenizer_begin,
                                         attn_stories_tokenizer_end - attn_stories_tokenizer_begin);
const std::string_view sorter_json(attn_sorter_begin, attn_sorter_end - attn_sorter_begin);

}  // namespace attn::models
