#include "attn/core/cards/attention_axes.hpp"

#include <algorithm>
#include <map>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Node = RuleNode::Kind;

/// An axis of a new step, with its length as a function of the plan.
struct AxisSource {
    std::string name;
    std::function<std::size_t(const Plan&)> length;
};

/// A cell of an earlier step, one of whose indices is a single letter.
struct LetterPlace {
    const Step* step;
    std::size_t axis;
    std::size_t length;
    bool is_requested;  ///< inside an `if`
};

class LetterAxes {
public:
    LetterAxes(const Rule& rule, const PlannedStep& of,
               const std::shared_ptr<const AttentionFile>& file)
        : rule_(rule), of_(of), file_(file), names_(rule_names(of)) {}

    std::function<Outline(const Plan&)> outline() const {
        std::vector<AxisSource> sources;
        for (const std::string& letter : rule_.indices) sources.push_back(source_of(letter));
        std::vector<AxisSource> leading;
        add_leading(*rule_.value, leading);
        for (AxisSource& each : leading) {
            const bool is_own =
                std::ranges::find(sources, each.name, &AxisSource::name) != sources.end();
            if (is_own) each.name.clear();
        }
        std::erase_if(leading, [](const AxisSource& each) { return each.name.empty(); });
        sources.insert(sources.begin(), leading.begin(), leading.end());
        return [sources](const Plan& plan) {
            Outline outline;
            for (const AxisSource& each : sources) {
                outline.axes.push_back(each.name);
                outline.shape.push_back(each.length(plan));
            }
            return outline;
        };
    }

private:
    /// Returns the step that a cell reads; nullptr if there is none, which completing the rule
    /// reports.
    const Step* read_by(const RuleNode& cell) const {
        if (cell.kind != Node::cell) return nullptr;
        try {
            const std::string name = names_.step(cell.word);
            return name == rule_.step ? nullptr : &find_step(of_.table, name);
        } catch (const ConfigError&) {
            return nullptr;
        }
    }

    void find_places(const RuleNode& node, const std::string& letter, bool is_requested,
                     std::vector<LetterPlace>& found) const {
        const Step* const step = read_by(node);
        for (std::size_t i = 0; i < node.parts.size(); ++i) {
            const RuleNode& part = *node.parts[i];
            if (step != nullptr && part.kind == Node::name && part.word == letter) {
                const Shape shape = step->outline(of_.plan).shape;
                const std::size_t axis = shape.size() - node.parts.size() + i;
                if (axis < shape.size()) found.push_back({step, axis, shape[axis], is_requested});
            }
            find_places(part, letter, is_requested || (node.kind == Node::choose && i > 0), found);
        }
    }

    AxisSource source_of(const std::string& letter) const {
        static const std::map<std::string, std::string> called{
            {"b", "batch"}, {"h", "head"},    {"q", "query"},   {"k", "key"},
            {"t", "token"}, {"f", "feature"}, {"c", "feature"}, {"i", "pair"}};
        const auto own_name = called.find(letter);
        const bool is_declared =
            std::ranges::find(file_->axes, letter, &AttentionNumber::name) != file_->axes.end();
        std::vector<LetterPlace> places;
        if (!is_declared) find_places(*rule_.value, letter, false, places);
        // An axis of length 1 may be broadcast, and a branch of an `if` may exceed the axis.
        std::ranges::stable_sort(places, {}, [](const LetterPlace& each) {
            return (each.length == 1 ? 2 : 0) + (each.is_requested ? 1 : 0);
        });
        if (!places.empty()) {
            const LetterPlace& best = places.front();
            const std::string axis = best.step->outline(of_.plan).axes[best.axis];
            return {own_name == called.end() ? axis : own_name->second,
                    [outline = best.step->outline, at = best.axis](const Plan& plan) {
                        return outline(plan).shape[at];
                    }};
        }
        const std::optional<Extent> known = axis_of(letter, *file_, of_.plan);
        if (!known) {
            throw ConfigError("the range of " + letter + " is unknown: give it, as in axis " +
                              letter + " < H * Dv");
        }
        return {own_name == called.end() || is_declared ? known->axis : own_name->second,
                [letter, file = file_](const Plan& plan) {
                    return axis_of(letter, *file, plan)->length();
                }};
    }

    void add_leading(const RuleNode& node, std::vector<AxisSource>& longest) const {
        const Step* const step = read_by(node);
        if (step != nullptr) {
            const Axes axes = step->outline(of_.plan).axes;
            const std::size_t count = axes.size() - std::min(axes.size(), node.parts.size());
            if (count > longest.size()) {
                longest.clear();
                for (std::size_t axis = 0; axis < count; ++axis) {
                    longest.push_back(
                        {axes[axis], [outline = step->outline, axis](const Plan& plan) {
                             return outline(plan).shape[axis];
                         }});
                }
            }
        }
        for (const RuleTree& part : node.parts) add_leading(*part, longest);
    }

    const Rule& rule_;
    const PlannedStep& of_;
    const std::shared_ptr<const AttentionFile>& file_;
    const RuleNames names_;
};

}  // namespace

std::function<Outline(const Plan&)> outline_of_letters(
    const Rule& rule, const PlannedStep& of, const std::shared_ptr<const AttentionFile>& file) {
    return LetterAxes(rule, of, file).outline();
}

}  // namespace attn
