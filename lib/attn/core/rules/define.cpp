#include "attn/core/rules/define.hpp"

#include <algorithm>
#include <set>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

constexpr double most_parts = 4096;
constexpr std::size_t most_depth = 256;

/// The size of an expression.
struct Extents {
    double parts = 1;
    std::size_t depth = 1;
};
Extents extents_of(const RuleNode& node) {
    Extents all;
    for (const RuleTree& part : node.parts) {
        const Extents own = extents_of(*part);
        all.parts += own.parts;
        all.depth = std::max(all.depth, own.depth + 1);
    }
    return all;
}

void add_words(const RuleNode& node, std::set<std::string>& words) {
    words.insert(node.word);
    words.insert(node.index);
    for (const RuleTree& part : node.parts) add_words(*part, words);
}

std::set<std::string> words_in(std::string_view text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : text) {
        if (is_of_name(c)) {
            word += c;
        } else if (!word.empty()) {
            words.insert(std::exchange(word, {}));
        }
    }
    words.insert(word);
    return words;
}

/// Puts arguments and indices into the rule of a definition.
class Expander {
public:
    Expander(const Definition& definition, const std::vector<RuleTree>& arguments,
             const std::vector<RuleTree>& indices, std::string_view used_letters, std::size_t at)
        : definition_(definition), used_names_(words_in(used_letters)), at_(at) {
        require_count(definition.arguments.size(), arguments.size(), " takes ", " argument");
        if (!definition.has_indices) require_count(0, indices.size(), " has ", " ind");
        if (indices.size() < definition.indices.size()) {
            require_count(definition.indices.size(), indices.size(), " has ", " ind");
        }
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            by_[definition.arguments[i]] = arguments[i];
            add_words(*arguments[i], used_names_);
        }
        const std::size_t more = indices.size() - definition.indices.size();
        first_.assign(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(more));
        for (std::size_t i = more; i < indices.size(); ++i) {
            by_[definition.indices[i - more]] = indices[i];
        }
        for (const RuleTree& each : indices) add_words(*each, used_names_);
    }

    RuleTree tree() {
        RuleTree whole = tree(*definition_.value, by_);
        if (extents_of(*whole).depth > most_depth) refuse_size();
        return whole;
    }

private:
    using Meanings = std::map<std::string, RuleTree>;

    RuleTree tree(const RuleNode& node, const Meanings& by) {
        const auto meant = by.find(node.word);
        if (node.kind == Kind::name && meant != by.end()) {
            parts_ += extents_of(*meant->second).parts;
            if (parts_ > most_parts) refuse_size();
            return meant->second;
        }
        if (++parts_ > most_parts) refuse_size();
        RuleNode copy = node;
        copy.at = at_;
        Meanings inside = by;
        if (node.kind == Kind::reduce) {
            const bool is_written_out = node.index.find_first_not_of('j') == node.index.npos;
            for (int number = 2;
                 used_names_.contains(copy.index) || (is_written_out && number == 2);) {
                copy.index = node.index + std::to_string(number++);
            }
            if (copy.index != node.index) used_names_.insert(copy.index);
            inside[node.index] = tree_of({.kind = Kind::name, .word = copy.index, .at = at_});
        }
        for (std::size_t i = 0; i < copy.parts.size(); ++i) {
            const bool is_body = i + 1 == copy.parts.size();
            copy.parts[i] = tree(*node.parts[i], is_body ? inside : by);
        }
        if (node.kind == Kind::cell && meant != by.end()) {
            if (meant->second->kind != Kind::name) {
                throw ConfigError(definition_.name + " takes a tensor as " + node.word +
                                  ": make the expression a step, and pass its name");
            }
            copy.word = meant->second->word;
            copy.parts.insert(copy.parts.begin(), first_.begin(), first_.end());
        }
        return tree_of(std::move(copy));
    }

    void require_count(std::size_t needed, std::size_t given, const char* verb,
                       const std::string& what) const {
        if (needed == given) return;
        const bool counts_indices = what == " ind";
        const std::string ending = counts_indices ? needed == 1 ? "ex" : "ices"
                                   : needed == 1  ? ""
                                                  : "s";
        throw ConfigError(definition_.name + verb + std::to_string(needed) + what + ending +
                          ", not " + std::to_string(given));
    }

    [[noreturn]] void refuse_size() const {
        throw ConfigError(definition_.name +
                          " expands to more than 4096 parts, or 256 levels: "
                          "make it several steps");
    }

    const Definition& definition_;
    std::set<std::string> used_names_;
    std::size_t at_;
    Meanings by_;
    std::vector<RuleTree> first_;
    double parts_ = 0;
};

}  // namespace

RuleTree expanded(const Definition& definition, const std::vector<RuleTree>& arguments,
                  const std::vector<RuleTree>& indices, std::string_view used_letters,
                  std::size_t at) {
    return Expander(definition, arguments, indices, used_letters, at).tree();
}

RuleTree written_out_softmax(const RuleNode& softmax, const std::string& other_index) {
    const RuleTree body = softmax.parts.back();
    const auto at = [&](const std::string& index) {
        return changed(body, [&](const RuleNode& each) -> RuleTree {
            const bool is_it = each.kind == Kind::name && each.word == softmax.index;
            return is_it ? name_node(index) : nullptr;
        });
    };
    const auto over = [&](const char* word, const std::string& index, const RuleTree& each) {
        RuleNode node = softmax;
        node.word = word;
        node.index = index;
        node.parts.back() = each;
        return tree_of(std::move(node));
    };
    const auto shifted = [&](const RuleTree& each, const std::string& index) {
        const RuleTree most = over("max", index, at(index));
        return call_node("exp", {operate_node("-", {each, call_node("stop", {most})})});
    };
    const std::string& j = other_index;
    return operate_node("/", {shifted(body, j), over("sum", j, shifted(at(j), j + 'j'))});
}

bool names_latest(const RuleNode& node) {
    return (node.kind == Kind::cell && node.word.starts_with("latest ")) ||
           std::ranges::any_of(node.parts,
                               [](const RuleTree& part) { return names_latest(*part); });
}

RuleTree with_exact_names(const RuleTree& tree) {
    RuleNode node = *tree;
    const bool is_short = node.word == "scores" || node.word == "weights";
    if (node.kind == Kind::cell && is_short) node.word = "exact " + node.word;
    for (RuleTree& part : node.parts) part = with_exact_names(part);
    return tree_of(std::move(node));
}

}  // namespace attn
