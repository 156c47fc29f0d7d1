#include "attn/core/walk/step_rule.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/completed_rule.hpp"
#include "attn/core/rules/define.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns a plan that keeps all steps: blocks are explained by scores that they do not keep.
Plan keeping(const Plan& plan) {
    Plan kept = plan;
    kept.config.variant = Variant::loop;
    return kept;
}

/// True if a rule may name a step that this plan does not keep.
bool exists(const Step& step, const Plan& plan) {
    return step.applies(plan) || (plan.fused() && step.applies(keeping(plan)));
}

/// Returns the step for a name in a rule of this step.
std::string step_called(const std::string& word, const PlannedStep& of) {
    const auto [name, is_exact] = exact_name(word);
    const auto itself = std::ranges::find(of.table, of.step.name, &Step::name);
    const std::ranges::subrange before(of.table.begin(), itself);
    const bool may_be_latest = !is_exact && !of.step.names_steps();
    const Chain chain = may_be_latest ? chain_called(name) : Chain::none;
    const Step* meant = nullptr;
    for (const Step& step : before) {
        const bool may_be = step.name == name || (chain != Chain::none && step.chain == chain);
        if (may_be && exists(step, of.plan)) meant = &step;
    }
    if (meant != nullptr) return meant->name;
    if (name == of.step.name) return name;  // earlier rows, which require_order() checks
    if (of.has(name)) throw ConfigError(name + " is made after " + of.step.name);
    std::vector<std::string> names, nearby{"queries", "keys", "values"};
    for (const Step& step : before) {
        if (exists(step, of.plan)) names.push_back(step.name);
    }
    nearby.insert(nearby.begin(), names.begin(), names.end());
    if (name.starts_with("latest ") && chain == Chain::none) {
        throw ConfigError(
            "latest must be followed by queries, keys, values, scores, weights or contexts");
    }
    throw ConfigError("there is no tensor '" + name + "' here" +
                      did_you_mean(name, nearby, ": the tensors before it are " + some_of(names)));
}

}  // namespace

namespace {
constexpr std::array<std::string_view, 7> chain_words{"",       "queries", "keys",    "values",
                                                      "scores", "weights", "contexts"};
}

Chain chain_called(std::string_view name) {
    constexpr std::string_view latest = "latest ";
    if (name.starts_with(latest)) name.remove_prefix(latest.size());
    if (name.empty()) return Chain::none;
    const auto found = std::ranges::find(chain_words, name);
    return found == chain_words.end() ? Chain::none
                                      : static_cast<Chain>(found - chain_words.begin());
}

std::string word(Chain chain) {
    return std::string(chain_words.at(static_cast<std::size_t>(chain)));
}

RuleNames rule_names(const PlannedStep& of) {
    return {[of](const std::string& name) { return step_called(name, of); },
            [of](const std::string& name) { return find_step(of.table, name).outline(of.plan); },
            rule_settings(of.plan),
            [of](const std::string& name) { return find_step(of.table, name).holds; }};
}

std::string tensor_called(const Ledger& ledger, const std::string& name, const std::string& step) {
    const Chain chain = chain_called(name);
    const Ledger::Entry* const latest =
        chain == Chain::none ? nullptr : ledger.find_latest(chain, step);
    return latest != nullptr ? latest->name : exact_name(name).first;
}

RuleScope rule_scope(const Plan& plan, const Ledger& ledger, const std::string& step,
                     bool names_steps) {
    const auto by_chain = [&ledger, step](const std::string& name) -> const Tensor& {
        return ledger[tensor_called(ledger, name, step)];
    };
    const auto by_step = [&ledger](const std::string& name) -> const Tensor& {
        return ledger[name];
    };
    RuleScope scope{by_chain, rule_settings(plan)};
    scope.threads = plan.arithmetic.threads;
    scope.other_forms = other_forms(plan);
    if (names_steps) {
        scope.tensor = by_step;  // gradients use kernels, as in PyTorch, whatever the variant
    } else if (plan.config.variant == Variant::loop) {
        scope.dots = plan.arithmetic;
    }
    return scope;
}

namespace {

Rule rule_as_written(const PlannedStep& of) {
    const bool has_rule = of.step.rule && exists(of.step, of.plan);
    return has_rule ? of.step.rule(of) : Rule();
}

/// Replacements for words of a rule's text, by their places.
class RuleWords {
public:
    RuleWords(const PlannedStep& of, const Rule& rule)
        : of_(of), settings_(rule_settings(of.plan)), scope_(rule.indices) {
        visit(*rule.value);
    }

    std::string text(const std::string& written) const {
        std::string told;
        std::size_t at = 0;
        for (const auto& [place, words] : instead_) {
            const auto [plain, is_exact] = exact_name(words.first);
            const bool is_short = is_exact && written.compare(place, plain.size(), plain) == 0;
            told += written.substr(at, place - at) + words.second;
            at = place + (is_short ? plain : words.first).size();
        }
        return told + written.substr(at);
    }

    RuleTree tree(const RuleTree& written) const {
        return changed(written, [&](const RuleNode& node) -> RuleTree {
            const auto found = instead_.find(node.at);
            if (found == instead_.end() || found->second.first != node.word) return nullptr;
            if (node.kind == RuleNode::Kind::name) return setting_node(settings_.at(node.word));
            if (node.kind != RuleNode::Kind::cell) return nullptr;
            RuleNode cell = node;
            cell.word = found->second.second;
            for (RuleTree& part : cell.parts) part = tree(part);
            return tree_of(std::move(cell));
        });
    }

private:
    void visit(const RuleNode& node) {
        const bool is_bound = std::ranges::find(scope_, node.word) != scope_.end();
        const bool is_read = node.kind == RuleNode::Kind::cell;
        if (is_read && (chain_called(node.word) != Chain::none || exact_name(node.word).second)) {
            instead_[node.at] = {node.word, step_called(node.word, of_)};
        } else if (node.kind == RuleNode::Kind::name && !is_bound) {
            const auto setting = settings_.find(node.word);
            if (setting != settings_.end()) {
                instead_[node.at] = {node.word, expression_text(*setting_node(setting->second))};
            }
        }
        for (const RuleTree& part : node.parts) {
            const bool binds = node.kind == RuleNode::Kind::reduce && part == node.parts.back();
            if (binds) scope_.push_back(node.index);
            visit(*part);
            if (binds) scope_.pop_back();
        }
    }

    const PlannedStep& of_;
    std::map<std::string, double> settings_;
    std::vector<std::string> scope_;  ///< the enclosing indices
    std::map<std::size_t, std::pair<std::string, std::string>> instead_;
};

}  // namespace

Rule rule_as_displayed(const PlannedStep& of) {
    Rule rule = rule_as_written(of);
    if (rule.value == nullptr || rule.text.empty()) return rule;
    const RuleWords told(of, rule);
    return {told.text(rule.text), rule.step, rule.indices, told.tree(rule.value)};
}

std::string displayed_rule(const PlannedStep& of) {
    const Rule rule = rule_as_displayed(of);
    return rule.text.empty() && rule.value != nullptr ? rule_text(rule) : rule.text;
}

namespace {

/// Shortens the numbers of a text to six digits, for display.
std::string shortened(const std::string& text) {
    constexpr std::size_t readable = 8;
    std::string result;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
        const char* const first = text.data() + at;
        double number = 0;
        const bool begins = std::isdigit(static_cast<unsigned char>(*first)) &&
                            (at == 0 || !is_of_name(text[at - 1]));
        const char* const last =
            begins ? std::from_chars(first, text.data() + text.size(), number).ptr : first + 1;
        end = static_cast<std::size_t>(last - text.data());
        const bool is_long = begins && end - at > readable;
        result += is_long ? six_digits(number) : text.substr(at, end - at);
    }
    return result;
}

}  // namespace

std::string formula_of(const Step& step, const Plan& plan, const StepTable& table) {
    const PlannedStep of{plan, table, step};
    const std::string rule = shortened(displayed_rule(of));
    const std::string words = step.formula ? step.formula(of) : std::string();
    return rule.empty() || words.empty() ? rule + words : rule + " (" + words + ")";
}

Step::Compute by_rule(const Step& step) {
    // Only the parts of the card that its rule needs, shared by all copies of a table.
    struct RuleOfCard {
        Step step;
        CompletedRule rule{};
    };
    const auto cached_rule = std::make_shared<RuleOfCard>();
    cached_rule->step.name = step.name;
    cached_rule->step.gradient_of = step.gradient_of;
    cached_rule->step.rule = step.rule;
    cached_rule->step.outline = step.outline;
    return [cached_rule](const Plan& plan, const Ledger& ledger) {
        static const StepTable no_steps;
        const Step& of = cached_rule->step;
        const RuleScope scope = rule_scope(plan, ledger, of.name, of.names_steps());
        try {
            return cached_rule->rule.evaluate(of.rule({plan, no_steps, of}), of.outline(plan),
                                              plan.compute_dtype, scope);
        } catch (const ConfigError& error) {
            throw ShapeError(error.what());
        }
    };
}

std::optional<Rule> rule_of(const PlannedStep& of) {
    const Rule written = rule_as_written(of);
    if (written.value == nullptr) return std::nullopt;
    const Rule rule = completed(written, of.step.outline(of.plan), rule_names(of));
    if (!of.plan.fused()) return rule;
    const Plan kept = keeping(of.plan);
    return inlined(rule, [&](const std::string& name) -> std::optional<Rule> {
        const Step& step = find_step(of.table, name);
        if (step.applies(of.plan)) return std::nullopt;
        return rule_of({kept, of.table, step});
    });
}

}  // namespace attn
