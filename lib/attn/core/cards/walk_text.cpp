#include "attn/core/cards/walk_text.hpp"

/// standard.attn, followed by the variants in data/attentions/standard.
extern "C" const char attn_standard[];

namespace attn {

std::string_view all_walk_texts() { return attn_standard; }

namespace {

constexpr std::string_view begins_file = "\nattention  ";

/// Calls `use(name, text)` for each file in the text. Comments at the start belong to the first
/// file.
template <class Use>
void each_file(Use use) {
    const std::string_view all = all_walk_texts();
    const std::size_t first = all.find(begins_file);
    for (std::size_t at = first; at != all.npos;) {
        const std::size_t next = all.find(begins_file, at + 1);
        const std::size_t name = at + begins_file.size();
        const std::size_t begin = at == first ? 0 : at + 1;
        use(all.substr(name, all.find('\n', name) - name), all.substr(begin, next - begin));
        at = next;
    }
}

std::string called(std::string_view file) {
    return file == "standard" ? std::string(file) : "standard/" + std::string(file);
}

}  // namespace

std::vector<std::string> walk_texts() {
    std::vector<std::string> names;
    each_file([&](std::string_view file, std::string_view) { names.push_back(called(file)); });
    return names;
}

std::string text_of_walk(std::string_view name) {
    std::string found;
    each_file([&](std::string_view file, std::string_view text) {
        if (called(file) != name) return;
        found = text;
        if (!found.ends_with('\n')) found += '\n';
    });
    return found;
}

}  // namespace attn
