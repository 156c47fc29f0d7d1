#include <algorithm>
#include <string_view>

#include "attn/core/plan/attention_file.hpp"
#include "attn/ground/text/strings.hpp"

/// The files of data/attentions, one after the other.
extern "C" const char attn_attentions[];

namespace attn {
namespace {

/// Where the file of that name begins among those that the program holds, and ends.
std::string_view shipped(std::string_view all, std::string_view name) {
    const std::string begin = "attention  ";
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t next = std::min(all.find("\n" + begin, at), all.size() - 1) + 1;
        std::string_view found = all.substr(at, next - at);
        if (trimmed(found.substr(begin.size(), found.find('\n') - begin.size())) == name)
            return found;
        at = next;
    }
    return {};
}

}  // namespace

std::string shipped_attention(std::string_view name) {
    return std::string(shipped(attn_attentions, name));
}

std::vector<std::string> shipped_attention_names() {
    std::vector<std::string> names;
    const std::string_view all = attn_attentions;
    const std::string begin = "attention  ";
    for (std::size_t at = 0; at < all.size(); ++at) {
        const bool is_begin = all.substr(at).starts_with(begin) && (at == 0 || all[at - 1] == '\n');
        if (!is_begin) continue;
        const std::size_t first = at + begin.size();
        names.emplace_back(trimmed(all.substr(first, all.find('\n', first) - first)));
    }
    return names;
}

}  // namespace attn
