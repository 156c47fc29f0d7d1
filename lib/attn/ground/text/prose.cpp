#include "attn/ground/text/prose.hpp"

#include <algorithm>

#include "attn/ground/text/strings.hpp"

namespace attn {

std::string Prose::visible() const { return attn::visible_labels(words_); }

std::string Prose::markdown() const { return markdown_prose(visible_lines(words_, false)); }

std::vector<Prose> Prose::lines() const {
    std::vector<Prose> all;
    for (std::size_t at = 0; at < words_.size();) {
        const std::size_t end = std::min(words_.find('\n', at), words_.size());
        all.emplace_back(words_.substr(at, end - at));
        at = end + 1;
    }
    return all;
}

}  // namespace attn
