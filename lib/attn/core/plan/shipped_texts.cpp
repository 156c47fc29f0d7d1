#include <algorithm>
#include <string_view>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/example_file.hpp"
#include "attn/ground/text/strings.hpp"

/// The joined files of data/attentions, of data/laws and of data/examples.
extern "C" const char attn_attentions[];
extern "C" const char attn_laws[];
extern "C" const char attn_examples[];

namespace attn {
namespace {

/// Texts of one kind, each of which begins with a line of that word and its name.
class Shelf {
public:
    Shelf(std::string_view all, std::string begin) : all_(all), begin_(std::move(begin)) {}

    std::string text_of(std::string_view name) const {
        for (std::size_t at = 0; at < all_.size();) {
            const std::size_t next = std::min(all_.find("\n" + begin_, at), all_.size() - 1) + 1;
            if (name_at(at) == name) return std::string(all_.substr(at, next - at));
            at = next;
        }
        return {};
    }

    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (std::size_t at = 0; at < all_.size(); ++at) {
            const bool is_line = at == 0 || all_[at - 1] == '\n';
            if (is_line && all_.substr(at).starts_with(begin_)) names.emplace_back(name_at(at));
        }
        return names;
    }

private:
    std::string_view name_at(std::size_t at) const {
        const std::size_t first = at + begin_.size();
        return trimmed(all_.substr(first, all_.find('\n', first) - first));
    }

    std::string_view all_;
    std::string begin_;
};

Shelf attentions() { return {attn_attentions, "attention  "}; }
Shelf laws() { return {attn_laws, "attention  "}; }
Shelf examples() { return {attn_examples, "example  "}; }

}  // namespace

std::string shipped_attention(std::string_view name) {
    const std::string found = attentions().text_of(name);
    return found.empty() ? laws().text_of(name) : found;
}
std::vector<std::string> shipped_attention_names() { return attentions().names(); }
std::vector<std::string> shipped_law_names() { return laws().names(); }
std::string shipped_example(std::string_view name) { return examples().text_of(name); }
std::vector<std::string> shipped_example_names() { return examples().names(); }

}  // namespace attn
