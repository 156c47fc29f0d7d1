#include <algorithm>
#include <set>

#include "attn/core/cards/attention_axes.hpp"
#include "attn/core/cards/card_text.hpp"
#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

// Turns attention files into cards: existing steps get another rule, and new ones are inserted.

namespace attn {
namespace {

using Node = RuleNode::Kind;

bool reads(const RuleNode& node, const std::string& name, bool in_index) {
    if (!in_index && node.kind == Node::cell && exact_name(node.word).first == name) return true;
    return std::ranges::any_of(node.parts, [&](const RuleTree& part) {
        return reads(*part, name, in_index && node.kind != Node::cell);
    });
}

class Builder {
public:
    Builder(StepTable& table, const Plan& plan, const std::shared_ptr<const AttentionFile>& file)
        : table_(table), plan_(plan), file_(file), steps_(file->steps_of(plan)) {}

    void build() {
        const bool needs_mask = std::ranges::any_of(steps_, [](const AttentionStep& each) {
            const auto is_used = [&](const std::string& name) {
                return each.rule.step == name || attn::reads(*each.rule.value, name, false);
            };
            return is_used("mask") || is_used("masked_scores");
        });
        if (needs_mask && !plan_.masks() && file_->begins.find("mask ") != std::string::npos) {
            throw ConfigError(file_->name + " needs a mask: leave $mask none out"_message);
        }
        add_parameters();
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const std::string& name = steps_[i].rule.step;
            const bool replaces = is_there(name);
            for (std::size_t next = i + 1; next < steps_.size(); ++next) {
                require_earlier(steps_[i], steps_[next]);
            }
            file_->at(steps_[i].line,
                      [&] { with_heads_in_mind([&] { replaces ? replace(i) : add(i); }); });
            put_in_ = replaces ? std::string() : name;
        }
        if (is_shipped()) return;  // the tests check the mistakes of a built-in file
        for (const AttentionMistake& each : file_->mistakes) {
            file_->at(each.line, [&] { check(each); });
        }
    }

private:
    std::size_t place_of(const std::string& name) const {
        return static_cast<std::size_t>(std::ranges::find(table_, name, &Step::name) -
                                        table_.begin());
    }
    bool is_shipped() const { return file_->label == file_->name; }
    bool is_there(const std::string& name) const { return has_step(table_, plan_, name); }

    /// Calls `make`. A file without a letter for heads may fail only because the walk has heads;
    /// the error then mentions this.
    template <class Make>
    void with_heads_in_mind(Make make) const {
        try {
            make();
        } catch (const Error& error) {
            const auto has_heads = [](const std::vector<std::string>& letters) {
                return std::ranges::count(letters, "h") > 0;
            };
            const auto left_side = [](const AttentionStep& step) { return step.rule.indices; };
            std::string why = error.what();
            if (plan_.heads > 1 && std::ranges::none_of(steps_, has_heads, left_side) &&
                std::ranges::none_of(file_->parameters, has_heads, &AttentionParameter::letters)) {
                why.insert(std::min(why.find('\n'), why.size()),
                           "; this attention has one head: leave $heads out"_message);
            }
            throw ConfigError(why);
        }
    }

    void add_parameters() {
        std::size_t at = place_of(plan_.has_x() ? "b_qkv" : "value") + 1;  // in draw order
        while (at < table_.size() && !table_[at].file.empty()) ++at;
        for (const AttentionParameter& each : file_->parameters) {
            if (place_of(each.name) < table_.size()) {
                file_->refuse(each.line, "there is a step " + each.name +
                                             " already: choose "
                                             "another name");
            }
            std::string title = each.title;
            if (title.empty()) title = "a parameter of " + file_->name;
            Step card = drawn_card(each.name, title, always_true);
            card.file = file_->name;
            if (each.value != nullptr) {
                card.formula = [remainder = "as " + file_->label + " says"](auto&) {
                    return remainder;
                };
            }
            table_.insert(table_.begin() + static_cast<std::ptrdiff_t>(at++), std::move(card));
        }
    }

    /// Errors  ConfigError for a mistake in a step that no form has, and for an invalid rule.
    void check(const AttentionMistake& mistake) {
        const bool is_own = std::ranges::any_of(file_->steps, [&](const AttentionStep& each) {
            return each.rule.step == mistake.step;
        });
        if (!is_own && place_of(mistake.step) == table_.size()) {
            throw ConfigError("there is no step " + mistake.step + " for this mistake");
        }
        if (!is_there(mistake.step)) return;
        const Step& step = table_[place_of(mistake.step)];
        if (is_own && step.file.empty()) return;  // another form has it
        const RuleNames names = rule_names({plan_, table_, step});
        for (const std::string& name : tensors_read(mistake.rule)) {
            const bool is_elsewhere =  // only in another form
                std::ranges::any_of(file_->steps, [&](const AttentionStep& each) {
                    return each.rule.step == name && !is_there(name);
                });
            if (is_elsewhere) return;
        }
        require_order(completed(mistake.rule, step.outline(plan_), names));
    }

    void replace(std::size_t i) {
        const AttentionStep& stated = steps_[i];
        if (!stated.extends.empty() || !stated.after.empty()) {
            throw ConfigError(stated.rule.step +
                              " exists already: extends and after are for new steps");
        }
        Step& step = table_[place_of(stated.rule.step)];
        const bool computes =
            step.compute && step.outline &&
            (step.kind == Step::Kind::computed || step.kind == Step::Kind::detail);
        if (!computes || !step.file.empty()) {
            throw ConfigError(step.file.empty()
                                  ? step.name + " is drawn or given: rules replace computed steps"
                                  : "two files make " + step.name + ": leave one out");
        }
        require_own_letters(stated.rule, step.outline(plan_));
        finish(step, stated);
    }

    void add(std::size_t i) {
        const AttentionStep& stated = steps_[i];
        const std::string& name = stated.rule.step;
        if (place_of(name) < table_.size()) {
            throw ConfigError("this walk has no step " + name + ", which others have: choose " +
                              "another name, or set the flag for it in begins");
        }
        const std::size_t at = place_for(i);
        Step card;
        card.name = name;
        card.title = "a step of " + file_->name;
        card.called = lower(stated.called);
        if (!stated.extends.empty()) card.chain = chain_of(stated.extends);
        table_.insert(table_.begin() + static_cast<std::ptrdiff_t>(at), std::move(card));
        Step& step = table_[at];
        step.outline = outline_of_letters(stated.rule, {plan_, table_, step}, file_);
        const Rule whole =
            completed(stated.rule, step.outline(plan_), rule_names({plan_, table_, step}));
        if (gives_truth(*whole.value)) step.holds = RuleType::truth;
        std::set<std::string> requested;
        if (is_integer(*whole.value) && is_place(name, requested)) {
            step.holds = RuleType::whole;
        }
        finish(step, stated);
    }

    /// Errors  InputError for a step that reads a new one which the file defines later.
    void require_earlier(const AttentionStep& stated, const AttentionStep& later) const {
        const std::string &name = stated.rule.step, &other = later.rule.step;
        if (is_there(other) || !reads(*stated.rule.value, other, false)) return;
        const bool read_each_other = reads(*later.rule.value, name, false);
        file_->refuse(stated.line, other + " is made after " + name +
                                       (read_each_other ? ": they read each other; join them in a "
                                                          "line `together " +
                                                              name + " " + other + "`"
                                                        : ": say it before"));
    }

    /// True if a step is an index of a cell, directly or through other steps.
    bool is_place(const std::string& name, std::set<std::string>& requested) const {
        if (!requested.insert(name).second) return false;
        return std::ranges::any_of(file_->steps, [&](const AttentionStep& other) {
            const RuleNode& rule = *other.rule.value;
            return reads_as_index(rule, name) ||
                   (reads(rule, name, false) && is_place(other.rule.step, requested));
        });
    }

    static bool reads_as_index(const RuleNode& node, const std::string& name) {
        return std::ranges::any_of(node.parts, [&](const RuleTree& part) {
            return (node.kind == Node::cell && reads(*part, name, false)) ||
                   reads_as_index(*part, name);
        });
    }

    /// Fills in the rest of a card, and its inputs.
    void finish(Step& step, const AttentionStep& stated) {
        const Rule whole = follow_rule(step, {plan_, table_, step}, stated.rule);
        step.file = file_->name;
        step.stated = std::make_shared<AttentionStep>(stated);
        if (!stated.title.empty()) step.title = stated.title;
        if (stated.at_once) step.rounds = [](const Plan&) { return RoundedAt::result; };
        if (stated.is_detail) step.shown = false;
        if (!stated.loop.empty()) step.compute = loop_for_files(stated.loop).compute(step);
        const Outline result_outline = step.outline(plan_);
        const bool in_float32 = plan_.compute_dtype == DType::float32;
        std::vector<std::string> remarks = remarks_on(whole, result_outline, in_float32);
        // A shipped file is read in its printed form, with the names of the steps.
        if (!is_shipped()) add_chain_remarks(stated.rule, {plan_, table_, step}, remarks);
        step.remarks = joined(remarks, " ");
        step.compute = [file = file_, line = stated.line, by_rule = step.compute](
                           const Plan& plan, const Ledger& ledger) {
            return file->at(line, [&] { return by_rule(plan, ledger); });
        };
    }

    static Chain chain_of(const std::string& name) {
        const Chain chain = chain_called(name);
        if (chain != Chain::none) return chain;
        throw ConfigError(
            "a step extends queries, keys, values, scores, weights or contexts, not " + name);
    }

    /// Returns the place of a new step: after the step that it names, or after all that it reads
    /// and before the first existing step that follows in the file; but before any reader of the
    /// chain that it, or a later step of the file, extends.
    std::size_t place_for(std::size_t i) const {
        const AttentionStep& stated = steps_[i];
        if (!stated.after.empty()) {
            std::size_t at = place_of(stated.after);
            if (at == table_.size())
                throw ConfigError("there is no step " + stated.after + " here");
            while (at + 1 < table_.size() && i > 0 &&
                   table_[at + 1].name == steps_[i - 1].rule.step) {
                ++at;
            }
            return at + 1;
        }
        std::size_t last = 0;
        const std::vector<std::string> names = tensors_read(stated.rule);
        for (std::size_t at = 0; at < table_.size(); ++at) {
            const Step& step = table_[at];
            if (!step.applies(plan_)) continue;
            const bool is_read = std::ranges::any_of(names, [&](const std::string& name) {
                const Chain chain = chain_called(name);
                return exact_name(name).first == step.name ||
                       (chain != Chain::none && chain == step.chain &&
                        step.name != "masked_scores");
            });
            const bool is_before = step.name == put_in_;
            if (is_read || is_before || (last == 0 && step.name == "x")) last = at;
        }
        std::size_t place = table_.size();
        for (std::size_t next = i + 1; next < steps_.size(); ++next) {
            const std::string& name = steps_[next].rule.step;
            const std::size_t at = is_there(name) ? place_of(name) : 0;
            if (at > last && table_[at].file.empty()) place = std::min(place, at);
        }
        return place <= first_reader(i, last) ? place : last + 1;
    }

    /// Returns the first step after `last` that reads a chain extended by new steps from the i-th
    /// on; the end of the table if there is none.
    std::size_t first_reader(std::size_t i, std::size_t last) const {
        std::size_t first = table_.size() - 1;
        for (; i < steps_.size() && !is_there(steps_[i].rule.step); ++i) {
            if (steps_[i].extends.empty() || !steps_[i].after.empty()) continue;
            const Chain chain = chain_of(steps_[i].extends);
            for (std::size_t at = last + 1; at < first; ++at) {
                if (!table_[at].applies(plan_)) continue;
                const bool reads_it = std::ranges::any_of(
                    table_[at].reads(plan_), [&](const Input& in) { return in.chain == chain; });
                if (reads_it) first = at;
            }
        }
        return first;
    }

    StepTable& table_;
    const Plan& plan_;
    std::shared_ptr<const AttentionFile> file_;
    std::vector<AttentionStep> steps_;
    std::string put_in_;  ///< the previous step of the file if it is new
};

}  // namespace

std::set<std::string> needed_steps(const StepTable& table, const Plan& plan) {
    std::set<std::string> needed;
    for (std::size_t i = table.size(); i-- > 0;) {
        const Step& step = table[i];
        const bool is_last = needed.empty() && step.kind == Step::Kind::computed;
        if (!step.applies(plan) || (!is_last && !needed.contains(step.name))) continue;
        needed.insert(step.name);
        for (const Input& input : step.reads(plan)) {
            try {
                needed.insert(PlannedStep{plan, table, step}.name_of(input));
            } catch (const ConfigError&) {
                // This walk lacks the chain.
            }
        }
    }
    return needed;
}

StepTable with_attentions(StepTable table, const Plan& plan) {
    if (plan.fused()) {
        throw ConfigError(
            "fused works block by block and stores no step that an attention file could replace: "
            "choose another variant");
    }
    if (plan.config.prefill) {
        throw ConfigError("an attention file is computed all at once: leave $prefill out"_message);
    }
    check_names(plan.config);
    const std::set<std::string> before = needed_steps(table, plan);
    for (const auto& file : plan.config.attentions) Builder(table, plan, file).build();
    follow_sums_of_parts(table, plan);
    const std::set<std::string> needed = needed_steps(table, plan);
    if (plan.drops() && !needed.contains(plan.config.dropout.keep_name())) {
        throw ConfigError(
            "$dropout applies to a step that no other reads in this attention: leave it "
            "out, or choose another $dropout-place"_message);
    }
    // The parts of softmax have no readers: they are removed with it.
    const bool has_softmax = needed.contains("weights") && !find_step(table, "weights").of_user();
    for (Step& step : table) {
        const bool was_read = step.kind == Step::Kind::detail
                                  ? !has_softmax
                                  : step.kind == Step::Kind::computed && before.contains(step.name);
        const bool leaves = was_read && step.file.empty() && !needed.contains(step.name);
        if (leaves) step.applies = [](const Plan&) { return false; };
    }
    for (const auto& file : plan.config.attentions) {
        for (const AttentionStep& stated : file->steps_of(plan)) {
            require_reader(*file, stated, needed,
                           *std::ranges::find(table, stated.rule.step, &Step::name));
        }
        require_merged_sizes(*file, table, plan);
        for (const std::string& name : file->same) {
            if (!has_step(table, plan, name)) {
                file->refuse(file->same_line, "this form has no step " + name);
            }
        }
    }
    return table;
}

}  // namespace attn
