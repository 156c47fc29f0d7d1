#include <algorithm>
#include <string_view>

#include "attn/core/plan/attention_file.hpp"
#include "attn/ground/text/strings.hpp"

/// The files of data/attentions, and those of data/laws, one after the other.
extern "C" const char attn_attentions[];
extern "C" const char attn_laws[];

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

std::vector<std::string> names_in(std::string_view all) {
    std::vector<std::string> names;
    const std::string begin = "attention  ";
    for (std::size_t at = 0; at < all.size(); ++at) {
        const bool is_begin = all.substr(at).starts_with(begin) && (at == 0 || all[at - 1] == '\n');
        if (!is_begin) continue;
        const std::size_t first = at + begin.size();
        names.emplace_back(trimmed(all.substr(first, all.find('\n', first) - first)));
    }
    return names;
}

}  // namespace

std::string shipped_attention(std::string_view name) {
    const std::string_view found = shipped(attn_attentions, name);
    return std::string(found.empty() ? shipped(attn_laws, name) : found);
}

std::vector<std::string> shipped_attention_names() { return names_in(attn_attentions); }
std::vector<std::string> shipped_law_names() { return names_in(attn_laws); }

}  // namespace attn
