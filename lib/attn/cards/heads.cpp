#include "attn/steps/heads.hpp"

#include "attn/cards/cards.hpp"

namespace attn {
namespace {

using namespace notes;

/// query, key or value: cut out of qkv, split into heads, projected, or x itself.
Tensor compute_part(const Plan& plan, const Ledger& ledger, const Projected& part) {
    const Axes axes = plan.per_head_axes(part.axis(plan), "feature");
    if (projects(plan) && !one_product(plan) && !splits_projected(plan)) {
        return project_part(plan, ledger, part, axes);
    }
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const auto split = twin(plan, loop::split_heads<T>, vectorized::split_heads<T>);
        if (one_product(plan)) {
            const Array<T> features =
                take_features(ledger["qkv"].as<T>(), plan.fused_features(part.number));
            return {axes, split(features, part.heads(plan))};
        }
        if (splits_projected(plan)) {
            return {axes, split(ledger["projected_" + part.name].as<T>(), part.heads(plan))};
        }
        const Array<T>& itself = ledger[part.source(plan)].as<T>();
        return {axes, plan.has_head ? split(itself, plan.heads) : itself};
    });
}

/// How the field writes it where it is a product; where it comes from where it is drawn or given.
std::string part_formula(const Plan& plan, const Projected& part) {
    if (projects(plan) && !one_product(plan) && !splits_projected(plan)) {
        return projection_formula(plan, part);
    }
    if (plan.has_x()) return {};
    if (plan.config.parameters.has(part.name)) return part.name + " as given";
    const bool normal =
        std::get<RandomInput>(plan.config.input).distribution == Distribution::normal;
    return part.name + (normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
}

std::string part_rule(const Plan& plan, const Projected& part) {
    const std::string h = plan.has_head ? "h" : "";
    const std::string left = part.name + (plan.has_head ? "[h,t,f]" : "[t,f]");
    if (one_product(plan)) return left + " = qkv[t, " + fused_index(plan, part, h) + "]";
    if (splits_projected(plan)) {
        return left + " = projected_" + part.name + "[t, " + split_index(part, plan, h) + "]";
    }
    if (projects(plan)) {
        return projection_rule(plan, part, left, plan.head_axis_on_weight() ? "h,f" : "f");
    }
    if (!plan.has_x()) return {};
    return left + " = " + part.source(plan) + "[t, " + split_index(part, plan, h) + "]";
}

std::vector<Input> part_inputs(const Plan& plan, const Projected& part) {
    if (one_product(plan)) return {"qkv"};
    if (splits_projected(plan)) return {"projected_" + part.name};
    if (projects(plan)) return projection_inputs(plan, part);
    if (plan.has_x()) return {part.source(plan)};
    return {};
}

/// How this part came to be, whatever the projection.
std::string origin(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    const std::string source = part.source(plan);
    const std::size_t width = part.width(plan);
    const std::string mixed = "the " + counted(part.inputs(plan), "feature") + " of " + source +
                              " into " + std::to_string(width);
    if (splits_projected(plan)) {
        return "Cut into " + counted(part.heads(plan), "head") + " of " +
               counted(width, "feature") + ": of projected_" + part.name + ", " +
               head_features(subject, part) + ".";
    }
    if (one_product(plan)) {
        return "Taken out of qkv: " + counted(width, "feature") + " for each of " +
               counted(part.heads(plan), "head") + ".";
    }
    if (!projects(plan)) {
        if (!plan.has_x()) return "Drawn directly at random: there is no x and no projection.";
        return "No projection: these are the features of " + source + " themselves" +
               (plan.has_head
                    ? ", cut into " + counted(plan.heads, "head") + " of " + std::to_string(width)
                    : "") +
               ".";
    }
    if (plan.head_axis_on_weight()) {
        return "Each head has a matrix of its own, which mixes " + mixed + ".";
    }
    return "The matrix w_" + part.parameter(plan) + " mixes " + mixed + ".";
}

/// The token whose row is longest: its dot products can be largest.
std::string longest_sentence(const Subject& subject, Side side) {
    const std::optional<MatrixCell> longest = longest_row(subject.tensor, 0);
    if (!longest) return {};
    const std::string name =
        side == Side::key ? column_label(subject, longest->row) : row_label(subject, longest->row);
    return of_first_matrix(subject, name + " has the longest " + subject.step.name +
                                        shown_here(subject) + " (" + number(longest->value) +
                                        "): the longer it is, the larger its scores can be.");
}

std::string zero_queries_sentence(const Subject& subject, const Rows& zero) {
    return of_first_matrix(
        subject, named(subject, zero) + (zero.count == 1
                                             ? " has a zero query, so all its scores are 0."
                                             : " have zero queries, so all their scores are 0."));
}

std::string part_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    std::string note = origin(subject, part);
    if (projects(plan) && !splits_projected(plan) && !one_product(plan)) {
        say(note, bias_sentence(subject, part.parameter(plan)));
    }
    if (part.letter() == 'v') {
        say(note, "A query that attended to " + column_label(subject, 0) +
                      " alone would receive exactly its row.");
        return note;
    }
    if (!Matrices(subject.tensor).readable() || !subject.excerpt.has_all("feature")) return note;
    const Side side = part.letter() == 'q' ? Side::query : Side::key;
    const Rows zero = zero_rows(subject.tensor, 0);
    if (side == Side::query && zero.count > 0) {
        say(note, zero_queries_sentence(subject, zero));
    } else {
        say(note, longest_sentence(subject, side));
    }
    return note;
}

Step part_card(const Projected& part) {
    static constexpr std::array titles{"what each token looks for", "what a query is compared with",
                                       "what each token contributes when it is attended to"};
    static constexpr std::array chains{Chain::queries, Chain::keys, Chain::values};
    return {
        .name = part.name,
        .title = titles[part.number],
        .chain = chains[part.number],
        .reads = [part](const Plan& plan) { return part_inputs(plan, part); },
        .outline =
            [part](const Plan& plan) {
                return Outline{
                    plan.per_head_axes(part.axis(plan), "feature"),
                    plan.per_head_shape(part.length(plan), part.width(plan), part.heads(plan))};
            },
        .rule = [part](const PlannedStep& of) { return part_rule(of.plan, part); },
        .formula = [part](const PlannedStep& of) { return part_formula(of.plan, part); },
        .compute = [part](const Plan& plan,
                          const Ledger& ledger) { return compute_part(plan, ledger, part); },
        .note = [part](const Subject& subject) { return part_note(subject, part); },
    };
}

}  // namespace

StepTable head_cards() {
    StepTable cards;
    for (const Projected& part : query_key_value()) {
        cards.push_back(part_card(part));
    }
    return cards;
}

}  // namespace attn
