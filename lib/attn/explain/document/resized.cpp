#include "attn/explain/document/resized.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "attn/core/plan/attention_file.hpp"

namespace attn {
namespace {

/// Returns the walk with random sizes, or for n = 0 as it is.
Resized resized(const Plan& plan, const std::set<std::string>& divisors, std::size_t multiple,
                bool is_tied, unsigned n) {
    std::mt19937 random(n);
    Resized result{plan};
    Plan& p = result.plan;
    std::size_t least = 1;
    for (const auto& setting : rule_settings(plan)) {
        const std::string& name = setting.first;
        const double number = setting.second;
        constexpr double largest_size = 64;
        const bool is_size = number >= 1 && number <= largest_size && number == std::floor(number);
        if (is_walk_number(name) || !is_size) continue;
        const std::size_t size = static_cast<std::size_t>(number) * (n == 0 ? 1 : random() % 3 + 1);
        result.sizes[name] = static_cast<double>(size);
        std::erase_if(p.config.attention_settings,
                      [&](const auto& each) { return each.first == name; });
        p.config.attention_settings.emplace_back(name, size);
        if (divisors.contains(name)) multiple = std::lcm(multiple, size);
        least = std::max(least, size);
    }
    const auto set = [&](const char* letter, std::size_t& size, std::size_t per, bool is_letter) {
        const std::size_t times = random() % 6 + 3;
        if (n > 0 && is_letter) size = per * times;
        if (is_letter) result.sizes[letter] = static_cast<double>(size);
    };
    const bool is_square = plan.key_len == plan.query_len + plan.past_len;
    const std::size_t tokens = (least + multiple - 1) / multiple * multiple;
    set("B", p.batch, 1, plan.has_batch);
    set("G", p.kv_heads, 2, plan.shares_keys());
    set("H", p.heads, plan.shares_keys() ? p.kv_heads : 2, plan.heads > 1);
    set("D", p.head_dim, 2, true);
    set("Dv", p.value_dim, 2, plan.value_dim != plan.head_dim);
    set("C", p.embed_dim, 2, !is_tied);
    set(is_square ? "T" : "Tq", p.query_len, tokens, true);
    set("Tk", p.key_len, tokens, !is_square);
    if (!plan.shares_keys()) p.kv_heads = p.heads;
    if (plan.value_dim == plan.head_dim) p.value_dim = p.head_dim;
    if (is_tied && n > 0) p.embed_dim = p.heads * p.head_dim;
    if (plan.memory_dim == plan.embed_dim) p.memory_dim = p.embed_dim;
    if (plan.output_dim == plan.embed_dim) p.output_dim = p.embed_dim;
    if (plan.rotates() && 2 * plan.rotary_pairs() == plan.head_dim) {
        p.config.rotary.dim = static_cast<std::int64_t>(p.head_dim);
    }
    if (is_square) p.key_len = p.query_len + plan.past_len;
    if (!is_square) result.tokens = "Tk";
    return result;
}

/// Returns a number of which an axis may need a multiple: 2 for `axis m < Tk / 2`.
std::size_t divisor_in(const RuleNode& node) {
    std::size_t all = 1;
    for (const RuleTree& part : node.parts) all = std::lcm(all, divisor_in(*part));
    const bool divides = is_operation(node, "/") && node.parts[1]->kind == RuleNode::Kind::number;
    const double by = divides ? node.parts[1]->number : 1;
    return by >= 1 && by <= 16 ? std::lcm(all, static_cast<std::size_t>(by)) : all;
}

/// Adds the settings by which indices are divided.
void add_divisors(const RuleNode& node, std::set<std::string>& divisors) {
    const bool divides =
        node.kind == RuleNode::Kind::operate && (node.word[0] == '/' || node.word == "%");
    if (divides && node.parts[1]->kind == RuleNode::Kind::name)
        divisors.insert(node.parts[1]->word);
    for (const RuleTree& part : node.parts) add_divisors(*part, divisors);
}

}  // namespace

std::vector<Resized> resized_walks(const Plan& plan, const StepTable& table, bool is_tied) {
    std::set<std::string> divisors;
    for (const Step& step : table) {
        const Rule rule = step.rule && step.applies(plan) ? step.rule({plan, table, step}) : Rule();
        if (rule.value) add_divisors(*rule.value, divisors);
    }
    std::size_t multiple = 1;
    for (const auto& file : plan.config.attentions) {
        for (const AttentionNumber& each : file->axes) {
            multiple = std::lcm(multiple, divisor_in(*each.value));
        }
    }
    std::vector<Resized> walks;
    for (unsigned n = 0; n < 9; ++n) walks.push_back(resized(plan, divisors, multiple, is_tied, n));
    return walks;
}

Resized own_size(const Plan& plan) { return resized(plan, {}, 1, true, 0); }

}  // namespace attn
