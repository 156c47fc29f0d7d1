#include "attn/judge/compare/split_weight.hpp"

#include <algorithm>

#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Weights = std::vector<SplitWeight>;

bool is_name(const RuleTree& node, const std::string& name) {
    return node->kind == Kind::name && node->word == name;
}

RuleTree exp_of(const RuleTree& tree) { return call_node("exp", {tree}); }

SplitWeight product_of(SplitWeight one, const SplitWeight& other) {
    const auto add = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    add(one.of_query, other.of_query);
    add(one.under_query, other.under_query);
    add(one.of_key, other.of_key);
    add(one.fades, other.fades);
    add(one.features, other.features);
    one.is_causal = one.is_causal || other.is_causal;
    return one;
}

Weights products_of(const Weights& left, const Weights& right) {
    Weights all;
    for (const SplitWeight& one : left) {
        for (const SplitWeight& other : right) all.push_back(product_of(one, other));
    }
    return all;
}

class Splitter {
public:
    Splitter(const std::string& query, const std::string& key) : q_(query), k_(key) {}

    Weights weights(const RuleTree& node) const {
        if (!holds_index(*node, k_)) return {{.of_query = {node}}};
        if (!holds_index(*node, q_)) return {{.of_key = {node}}};
        if (is_operation(*node, "*")) {
            return products_of(weights(node->parts[0]), weights(node->parts[1]));
        }
        if (is_operation(*node, "/")) {
            return products_of(weights(node->parts[0]), {turned(node->parts[1])});
        }
        if (node->kind == Kind::operate && (node->word == "+" || node->word == "-")) {
            return sums(*node);
        }
        if (is_operation(*node, "^")) return power(node);
        if (node->kind == Kind::choose) return choice(*node);
        if (node->kind == Kind::call && node->word == "exp") return exponential(node);
        if (node->kind == Kind::reduce && node->word == "sum") return features(*node);
        if (node->kind == Kind::reduce && node->word == "prod") {
            return {faded(*node, node->parts[2], *node)};
        }
        refuse(*node);
    }

private:
    [[noreturn]] static void refuse(const RuleNode& node) {
        throw ConfigError("no such form is found: " + expression_text(node) +
                          " depends on query and key together, and is not split here into a factor "
                          "of each and a decay per token");
    }

    Weights sums(const RuleNode& node) const {
        Weights all = node.parts.size() == 1 ? Weights() : weights(node.parts[0]);
        for (SplitWeight each : weights(node.parts.back())) {
            if (node.word == "-") each.of_query.push_back(number_node(-1));
            all.push_back(std::move(each));
        }
        return all;
    }

    /// Returns the reciprocal of a product.
    SplitWeight turned(const RuleTree& node) const {
        const Weights under = weights(node);
        if (under.size() != 1 || !under[0].features.empty() || under[0].is_causal) refuse(*node);
        SplitWeight over = under[0];
        std::swap(over.of_query, over.under_query);
        for (std::vector<RuleTree>* trees : {&over.of_key, &over.fades}) {
            for (RuleTree& each : *trees) each = operate_node("/", {number_node(1), each});
        }
        return over;
    }

    /// `decay ^ (q - k)`, or a small power of a weight.
    Weights power(const RuleTree& node) const {
        const RuleTree &base = node->parts[0], &times = node->parts[1];
        const bool is_fixed = !holds_index(*base, q_) && !holds_index(*base, k_);
        if (is_fixed && is_distance(*times)) return {{.fades = {base}}};
        const bool is_small = is_number(*times, 2) || is_number(*times, 3) || is_number(*times, 4);
        if (!is_small) refuse(*node);
        Weights all = weights(base);
        for (int i = 1; i < static_cast<int>(times->number); ++i) {
            Weights more = weights(base);
            for (SplitWeight& each : more) {
                for (FeatureSum& feature : each.features) {
                    rename_feature(each, feature, feature.index + "_" + std::to_string(i + 1));
                }
            }
            all = products_of(all, more);
        }
        return all;
    }

    /// `if k > q then 0 else ...`.
    Weights choice(const RuleNode& node) const {
        const RuleNode& requested = *node.parts[0];
        const auto compares = [&](const char* word, const std::string& left,
                                  const std::string& right) {
            return is_operation(requested, word) && is_name(requested.parts[0], left) &&
                   is_name(requested.parts[1], right);
        };
        const bool hides = compares(">", k_, q_) || compares("<", q_, k_);
        const bool shows = compares("<=", k_, q_) || compares(">=", q_, k_);
        if ((!hides && !shows) || !is_number(*node.parts[hides ? 1 : 2], 0)) refuse(requested);
        Weights all = weights(node.parts[hides ? 2 : 1]);
        for (SplitWeight& each : all) each.is_causal = true;
        return all;
    }

    /// exp() of a sum is a product.
    Weights exponential(const RuleTree& node) const {
        const RuleTree& of = node->parts[0];
        if (is_operation(*of, "+")) {
            return products_of(weights(exp_of(of->parts[0])), weights(exp_of(of->parts[1])));
        }
        if (is_operation(*of, "-")) {
            return products_of(weights(exp_of(of->parts[0])), {turned(exp_of(of->parts[1]))});
        }
        if (of->kind == Kind::operate && of->parts.size() == 1) {
            return {turned(exp_of(of->parts[0]))};
        }
        if (of->kind == Kind::reduce && of->word == "sum") {
            return {faded(*of, exp_of(of->parts[2]), *node)};
        }
        if (const RuleTree rate = per_token(of)) return {{.fades = {exp_of(rate)}}};
        refuse(*node);
    }

    bool is_distance(const RuleNode& node) const {
        return is_operation(node, "-") && is_name(node.parts[0], q_) && is_name(node.parts[1], k_);
    }

    /// Returns `slope` for `slope * (q - k)`; nullptr for other expressions.
    RuleTree per_token(const RuleTree& node) const {
        if (is_distance(*node)) return number_node(1);
        for (const std::size_t i : {0U, 1U}) {
            const bool is_factor = is_operation(*node, "*") || (is_operation(*node, "/") && i == 0);
            if (!is_factor) continue;
            const RuleTree& other = node->parts[1 - i];
            const RuleTree rate = per_token(node->parts[i]);
            if (rate == nullptr || holds_index(*other, q_) || holds_index(*other, k_)) continue;
            const bool is_other = is_number(*rate, 1) && node->word == "*";
            return is_other ? other : operate_node(node->word, {rate, other});
        }
        return nullptr;
    }

    /// `prod t in k + 1..q + 1: fade[t]`, or the exp() of a sum, which is `whole`.
    SplitWeight faded(const RuleNode& node, const RuleTree& fade, const RuleNode& whole) const {
        const auto is_after = [](const RuleNode& end, const std::string& index) {
            return is_operation(end, "+") && is_name(end.parts[0], index) &&
                   is_number(*end.parts[1], 1);
        };
        const bool is_between = is_after(*node.parts[0], k_) && is_after(*node.parts[1], q_);
        if (!is_between || holds_index(*fade, q_) || holds_index(*fade, k_)) refuse(whole);
        return {.fades = {with_index(fade, node.index, name_node("t"))}};
    }

    Weights features(const RuleNode& node) const {
        for (const std::size_t i : {0U, 1U}) {
            if (holds_index(*node.parts[i], k_) || holds_index(*node.parts[i], q_)) refuse(node);
        }
        Weights all = weights(node.parts[2]);
        for (SplitWeight& each : all) {
            each.features.push_back({node.index, node.parts[0], node.parts[1]});
        }
        return all;
    }

    const std::string &q_, &k_;
};

}  // namespace

std::vector<SplitWeight> split_weights(const RuleTree& body, const std::string& query,
                                       const std::string& key) {
    return Splitter(query, key).weights(body);
}

void rename_feature(SplitWeight& weight, FeatureSum& feature, const std::string& name) {
    for (std::vector<RuleTree>* trees : {&weight.of_query, &weight.of_key, &weight.fades}) {
        for (RuleTree& tree : *trees) tree = with_index(tree, feature.index, name_node(name));
    }
    feature.index = name;
}

RuleTree with_index(const RuleTree& tree, const std::string& index, const RuleTree& instead) {
    return changed(tree, [&](const RuleNode& node) -> RuleTree {
        return node.kind == Kind::name && node.word == index ? instead : nullptr;
    });
}

}  // namespace attn
