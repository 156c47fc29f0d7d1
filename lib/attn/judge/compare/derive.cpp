#include "attn/judge/compare/derive.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/split_weight.hpp"

namespace attn {
namespace {

using Trees = std::vector<RuleTree>;
using DerivedNode = RuleNode::Kind;

RuleTree factors(const Trees& all) {
    RuleTree product;
    for (const RuleTree& each : all) {
        product = product ? operate_node("*", {product, each}) : each;
    }
    return product;
}

/// Rewrites the sums over keys in the rule of the contexts.
class Deriver {
public:
    Deriver(const Plan& plan, const DerivedForm& form)
        : plan_(plan), form_(form), table_(step_table(plan)) {
        double number = 900'000'001;
        for (const auto& [name, value] : rule_settings(plan)) {
            const bool is_whole = value == static_cast<double>(static_cast<std::int64_t>(value));
            settings_[name] = is_whole ? number : number + 0.5;
            number += 1;
        }
    }

    /// The rules of the form: states, and the context that reads them.
    std::vector<Rule> rules() {
        const Step* target = nullptr;
        for (const Step& step : table_) {
            const bool is_it = step.chain == Chain::contexts && step.applies(plan_);
            if (is_it && target == nullptr) target = &step;
        }
        if (target == nullptr) throw ConfigError("this walk has no context to derive");
        target_ = target->name;
        if (!needs_pairs(*target)) {
            throw ConfigError(
                "the context of this form is computed without weights: choose a form "
                "with $form that has them"_message);
        }
        const Rule whole = inlined(*rule(*target), [&](const std::string& name) {
            const Step& step = find_step(table_, name);
            const bool is_inside = step.kind != Step::Kind::parameter && needs_pairs(step);
            return is_inside ? rule(step) : std::nullopt;
        });
        query_ = letter_of(whole, target->outline(plan_), "query");
        Rule context = whole;
        for (const std::string& each : whole.indices) {
            if (each != query_) free_.push_back(each);
        }
        context.value = rewritten(whole.value, free_);
        if (derived_.empty()) throw ConfigError("the context has no sum over keys to derive");
        derived_.push_back(std::move(context));
        for (Rule& each : derived_) each = readable(each);
        return derived_;
    }

    /// True for steps that the derived form replaces.
    bool replaces(const std::string& name) const {
        const auto step = std::ranges::find(table_, name, &Step::name);
        return step != table_.end() && step->applies(plan_) &&
               (name == target_ || (comes_before(name, target_) && needs_pairs(*step)));
    }

private:
    bool comes_before(const std::string& one, const std::string& other) const {
        return std::ranges::find(table_, one, &Step::name) <
               std::ranges::find(table_, other, &Step::name);
    }

    /// True if the step has a number for each pair of query and key, or reads such a step.
    bool needs_pairs(const Step& step) const {
        if (const auto known = pairs_.find(step.name); known != pairs_.end()) return known->second;
        pairs_[step.name] = false;
        const Axes axes = step.outline ? step.outline(plan_).axes : Axes();
        const auto has = [&](const char* axis) { return std::ranges::count(axes, axis) > 0; };
        bool needs = has("query") && has("key");
        const std::optional<Rule> own = needs ? std::nullopt : rule(step);
        for (const std::string& name : own ? tensors_read(*own) : std::vector<std::string>()) {
            needs = needs || (name != step.name && needs_pairs(find_step(table_, name)));
        }
        return pairs_[step.name] = needs;
    }

    /// Returns the completed rule with settings by their names.
    std::optional<Rule> rule(const Step& step) const {
        if (!step.rule || !step.compute) return std::nullopt;
        const PlannedStep of{plan_, table_, step};
        Rule written = step.rule(of);
        if (written.value == nullptr) return std::nullopt;
        RuleNames names = rule_names(of);
        names.settings = settings_;
        Rule whole = completed(written, step.outline(plan_), names);
        whole.value = changed(whole.value, [&](const RuleNode& node) -> RuleTree {
            for (const auto& [name, number] : settings_) {
                if (is_number(node, number)) return name_node(name);
            }
            return nullptr;
        });
        return whole;
    }

    static std::string letter_of(const Rule& rule, const Outline& result_outline,
                                 const char* axis) {
        for (std::size_t i = 0; i < rule.indices.size(); ++i) {
            if (result_outline.axes[i] == axis || result_outline.axes[i] == "token")
                return rule.indices[i];
        }
        throw ConfigError("the context has no axis of queries");
    }

    bool is_over_keys(const RuleNode& node) const {
        if (node.kind != DerivedNode::reduce) return false;
        return std::ranges::any_of(axes_of(*node.parts[2], node.index), [](const RuleAxis& axis) {
            return axis.name() == "key" || axis.name() == "token";
        });
    }

    RuleTree rewritten(const RuleTree& tree, std::vector<std::string> scope) {
        if (is_over_keys(*tree) && tree->word == "sum") return from_states(tree, scope);
        RuleNode node = *tree;
        if (node.kind == DerivedNode::reduce) {
            if (is_over_keys(node)) {
                throw ConfigError("no such form is found: it needs all keys at once for " +
                                  expression_text(*tree));
            }
            scope.push_back(node.index);
        }
        for (RuleTree& part : node.parts) part = rewritten(part, scope);
        return tree_of(std::move(node));
    }

    RuleTree from_states(const RuleTree& sum, const std::vector<std::string>& scope) {
        const RuleNode& end = *sum->parts[1];
        const auto all = static_cast<double>(plan_.key_len);
        const bool is_to_query = is_operation(end, "+") && is_number(*end.parts[1], 1) &&
                                 end.parts[0]->kind == DerivedNode::name &&
                                 end.parts[0]->word == query_;
        const bool is_whole =
            is_number(end, all) || (end.kind == DerivedNode::name && end.word == "Tk");
        if (!is_number(*sum->parts[0], 0) || (!is_to_query && !is_whole)) {
            throw ConfigError(
                "no such form is found: the keys of a query are neither all keys nor all keys so "
                "far in " +
                expression_text(*sum));
        }
        RuleTree total;
        for (SplitWeight weight : split_weights(sum->parts[2], query_, sum->index)) {
            weight.is_causal = weight.is_causal || is_to_query;
            for (Trees* trees : {&weight.of_query, &weight.under_query}) {
                for (RuleTree& each : *trees) each = rewritten(each, scope);
            }
            keep_letters_free(weight);
            if (weight.of_key.empty()) weight.of_key.push_back(number_node(1));
            if (!weight.is_causal && (!weight.fades.empty() || form_.chunk > 0)) {
                throw ConfigError(
                    "there is no such form without a causal mask: add $mask causal"_message);
            }
            const RuleTree read =
                form_.chunk > 0 ? chunked(weight, *sum, scope) : recurrent(weight, *sum, scope);
            total = total ? operate_node("+", {total, read}) : read;
        }
        return total;
    }

    /// Returns the letters of a state: those of its features, and of the terms that it adds.
    std::vector<std::string> letters_of(const SplitWeight& weight,
                                        const std::vector<std::string>& scope) const {
        std::vector<std::string> letters;
        const auto reads = [&](const std::string& name) {
            const auto in = [&](const RuleTree& tree) { return holds_index(*tree, name); };
            return std::ranges::any_of(weight.of_key, in) || std::ranges::any_of(weight.fades, in);
        };
        std::vector<std::string> after;
        for (const std::string& each : scope) {
            const bool is_leading = each == "b" || each == "h";
            if (reads(each)) (is_leading ? letters : after).push_back(each);
        }
        letters.emplace_back("t");
        for (const FeatureSum& each : weight.features) {
            if (reads(each.index)) letters.push_back(each.index);
        }
        letters.insert(letters.end(), after.begin(), after.end());
        return letters;
    }

    std::string state_name(const std::vector<std::string>& letters) const {
        const bool has_values = std::ranges::count(letters, free_.back()) > 0;
        std::string stem = form_.chunk > 0 ? "chunk_" : "";
        stem += has_values ? "state" : "norm";
        const auto is_in_use = [&](const std::string& name) {
            return std::ranges::count(table_, name, &Step::name) > 0 ||
                   std::ranges::count(derived_, name, &Rule::step) > 0;
        };
        std::string name = stem;
        for (int number = 2; is_in_use(name); ++number) name = stem + "_" + std::to_string(number);
        return name;
    }

    /// Renames the features that have a letter of the form.
    void keep_letters_free(SplitWeight& weight) const {
        for (FeatureSum& each : weight.features) {
            const std::string name_in_use = form_.chunk > 0 ? form_.letter + "rst" : "t";
            if (each.index.size() > 1 || name_in_use.find(each.index) == name_in_use.npos) continue;
            rename_feature(weight, each, each.index + "_");
        }
    }

    /// Returns a cell of a state, at a token or a chunk.
    RuleTree cell(const std::string& name, const std::vector<std::string>& letters,
                  const RuleTree& place) const {
        const std::string place_letter = form_.chunk > 0 ? form_.letter : "t";
        Trees indices;
        for (const std::string& each : letters) {
            indices.push_back(each == place_letter ? place : name_node(each));
        }
        return cell_node(name, indices);
    }

    static bool is_of_feature(const SplitWeight& weight, const RuleTree& factor) {
        return std::ranges::any_of(weight.features, [&](const FeatureSum& sum) {
            return holds_index(*factor, sum.index);
        });
    }

    /// Returns the sum over features of factors of the query and other factors.
    static RuleTree over_features(const SplitWeight& weight, const Trees& others) {
        Trees inside;
        for (const RuleTree& each : weight.of_query) {
            if (is_of_feature(weight, each)) inside.push_back(each);
        }
        inside.insert(inside.end(), others.begin(), others.end());
        RuleTree all = factors(inside);
        for (const FeatureSum& each : weight.features) {
            all = reduce_node("sum", each.index, each.first, each.end, all);
        }
        return all;
    }

    /// Returns the result of a query's reading, times the other factors of the query.
    static RuleTree read_by_query(const SplitWeight& weight, const RuleTree& read) {
        Trees all;
        for (const RuleTree& each : weight.of_query) {
            if (!is_of_feature(weight, each)) all.push_back(each);
        }
        all.push_back(read);
        RuleTree whole = factors(all);
        for (const RuleTree& each : weight.under_query) whole = operate_node("/", {whole, each});
        return whole;
    }

    RuleTree recurrent(const SplitWeight& weight, const RuleNode& sum,
                       const std::vector<std::string>& scope) {
        std::vector<std::string> letters = letters_of(weight, scope);
        const RuleTree t = name_node("t"), added = factors(weight.of_key);
        if (!weight.is_causal) {
            std::erase(letters, "t");
            const std::string name = state_name(letters);
            derived_.push_back(
                Rule("", name, letters,
                     reduce_node("sum", sum.index, sum.parts[0], sum.parts[1], added)));
            return read_by_query(weight, over_features(weight, {cell(name, letters, t)}));
        }
        const std::string name = state_name(letters);
        const RuleTree before = cell(name, letters, operate_node("-", {t, number_node(1)}));
        Trees faded = weight.fades;
        faded.push_back(before);
        const RuleTree is_first = operate_node("==", {t, number_node(0)});
        derived_.push_back(
            Rule("", name, letters,
                 operate_node("+", {choose_node(is_first, number_node(0), factors(faded)),
                                    with_index(added, sum.index, t)})));
        return read_by_query(weight,
                             over_features(weight, {cell(name, letters, name_node(query_))}));
    }

    /// Returns the decays of the tokens from `first` to before `end`, and other factors.
    Trees faded_between(const SplitWeight& weight, const RuleTree& first, const RuleTree& end,
                        const RuleTree& count, const Trees& others) const {
        Trees all;
        for (const RuleTree& each : weight.fades) {
            all.push_back(
                holds_index(*each, "t")
                    ? reduce_node("prod", "s", first, end, with_index(each, "t", name_node("s")))
                    : operate_node("^", {each, count}));
        }
        all.insert(all.end(), others.begin(), others.end());
        return all;
    }

    RuleTree chunked(const SplitWeight& weight, const RuleNode& sum,
                     const std::vector<std::string>& scope) {
        std::vector<std::string> letters = letters_of(weight, scope);
        const std::string name = state_name(letters);
        const auto plus = [](const RuleTree& a, double b) {
            return b < 0 ? operate_node("-", {a, number_node(-b)})
                         : operate_node("+", {a, number_node(b)});
        };
        const auto minus = [](const RuleTree& a, const RuleTree& b) {
            return operate_node("-", {a, b});
        };
        const RuleTree n = name_node(form_.letter),
                       size = number_node(static_cast<double>(form_.chunk));
        const RuleTree r = name_node("r"), q = name_node(query_);
        const RuleTree begin = operate_node("*", {plus(n, -1), size});
        const RuleTree end = operate_node("*", {n, size});
        Trees added;
        for (const RuleTree& each : weight.of_key) added.push_back(with_index(each, sum.index, r));
        std::ranges::replace(letters, std::string("t"), form_.letter);
        const auto state = [&](const RuleTree& place) { return cell(name, letters, place); };
        const RuleTree kept =
            factors(faded_between(weight, begin, end, size, {state(plus(n, -1))}));
        const RuleTree own = reduce_node(
            "sum", "r", begin, end,
            factors(faded_between(weight, plus(r, 1), end, minus(plus(end, -1), r), added)));
        const RuleTree is_first = operate_node("==", {n, number_node(0)});
        derived_.push_back(
            Rule("", name, letters,
                 choose_node(is_first, number_node(0), operate_node("+", {kept, own}))));
        const RuleTree chunk = operate_node("//", {q, size});
        const RuleTree start = operate_node("*", {chunk, size});
        const Trees earlier = faded_between(weight, start, plus(q, 1),
                                            plus(operate_node("%", {q, size}), 1), {state(chunk)});
        const RuleTree within = reduce_node(
            "sum", "r", start, plus(q, 1),
            over_features(weight,
                          faded_between(weight, plus(r, 1), plus(q, 1), minus(q, r), added)));
        return read_by_query(weight, operate_node("+", {within, over_features(weight, earlier)}));
    }

    /// Uses the names of chains, and the usual letters.
    Rule readable(Rule rule) const {
        const PlannedStep of{plan_, table_, find_step(table_, target_)};
        std::map<std::string, std::string> words;
        for (const Chain chain : {Chain::queries, Chain::keys, Chain::values}) {
            words[of.latest(chain)] = word(chain);
        }
        // The first feature is f, and that of the values g.
        const bool swaps = free_.back() == "f";
        const auto letter = [&](const std::string& name) {
            if (name == query_) return std::string("t");
            if (!swaps || name.empty() || name[0] != 'f') return name;
            return name == "f" ? std::string("g") : name == "f2" ? std::string("f") : name;
        };
        const auto renamed = [&](const auto& self, const RuleTree& tree) -> RuleTree {
            RuleNode node = *tree;
            if (node.kind == DerivedNode::name) node.word = letter(node.word);
            const auto chain = words.find(node.word);
            if (node.kind == DerivedNode::cell && chain != words.end()) node.word = chain->second;
            if (node.kind == DerivedNode::reduce) node.index = letter(node.index);
            for (RuleTree& part : node.parts) part = self(self, part);
            return tree_of(std::move(node));
        };
        rule.value = renamed(renamed, rule.value);
        for (std::string& each : rule.indices) each = letter(each);
        rule.text.clear();
        return rule;
    }

    const Plan& plan_;
    const DerivedForm& form_;
    const StepTable& table_;
    std::map<std::string, double> settings_;
    mutable std::map<std::string, bool> pairs_;
    std::string target_, query_;
    std::vector<std::string> free_;
    std::vector<Rule> derived_;
};

}  // namespace

DerivedRules derived_rules(const Plan& plan, const DerivedForm& form) {
    Deriver deriver(plan, form);
    DerivedRules derived{deriver.rules()};
    for (const Step& step : step_table(plan)) {
        if (deriver.replaces(step.name)) derived.replaced.insert(step.name);
    }
    return derived;
}

}  // namespace attn
