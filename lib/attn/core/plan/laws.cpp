#include "attn/core/plan/laws.hpp"

#include <algorithm>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

bool explains(std::string_view list, std::string_view name, const Plan* plan) {
    constexpr std::string_view when = " when ";
    const std::string_view family = name.substr(0, name.find('='));
    while (!list.empty()) {
        const std::string_view part = next_part(list, ";");
        const std::size_t end = std::min(part.find(when), part.size());
        bool is_listed = false;
        for (std::string_view names = part.substr(0, end); !names.empty();) {
            const std::string_view each = next_token(names);
            is_listed = is_listed || each == name || each == family;
        }
        if (!is_listed) continue;
        if (end == part.size()) return true;
        if (plan != nullptr && conditions_true(part.substr(end + when.size()), *plan)) return true;
    }
    return false;
}

/// Returns the rest of the line that begins with `word`; empty if there is none.
std::string_view line_of(std::string_view law, const std::string& word) {
    const std::size_t at = law.find("\n" + word + " ");
    if (at == law.npos) return {};
    const std::size_t first = at + 1 + word.size();
    return trimmed(law.substr(first, law.find('\n', first) - first));
}

std::optional<Law> last_law(const std::string& name, const Plan* plan) {
    std::vector<std::string> names = shipped_law_names();
    std::ranges::reverse(names);
    for (const std::string& each : names) {
        const std::string law = shipped_attention(each);
        if (explains(line_of(law, "explains"), name, plan)) {
            return Law{each, std::string(line_of(law, "title"))};
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Law> law_for(const std::string& name, const Plan& plan) {
    return last_law(name, &plan);
}
std::optional<Law> law_for(const std::string& name) { return last_law(name, nullptr); }

}  // namespace attn
