#include "attn/cards/cards.hpp"

#include "attn/codegen/step_lines.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

using namespace notes;

// sink: one logit for each head. sink_weight: what it takes of each query's attention.

bool has_sink(const Plan& plan) { return plan.has_sink(); }
bool keeps_sink_weight(const Plan& plan) { return keeps_scores(plan) && has_sink(plan); }

Outline sink_weight_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    outline.axes.pop_back();
    outline.shape.pop_back();
    return outline;
}

std::string sink_note(const Subject& subject) {
    std::string note =
        "One logit for each head that joins every softmax of the head as a further key would, with "
        "a value of 0: a query that finds nothing can attend to it. It is not scaled and not "
        "masked, and has no position.";
    if (*subject.plan.config.sink == SinkLogit::zero) {
        say(note,
            "A sink of 0 is softmax off by one: each exponential is divided by 1 + the sum of "
            "all.");
    }
    return note;
}

Tensor compute_sink_weight(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const std::span<const T> sink = sink_of<T>(ledger);
        const std::size_t keys = scores.axis("key");
        const bool loops = is_loop(plan);
        Array<T> largest =
            loops ? loop::row_max(scores.as<T>(), keys) : vectorized::row_max(scores.as<T>(), keys);
        twin(plan, loop::raise_to_sink<T>, vectorized::raise_to_sink<T>)(sink,
                                                                         one_a_query(largest));
        const Array<T> exponentials = loops
                                          ? loop::exponentials(scores.as<T>(), largest, keys)
                                          : vectorized::exponentials(scores.as<T>(), largest, keys);
        Array<T> sums =
            loops ? loop::row_sum(exponentials, keys) : vectorized::row_sum(exponentials, keys);
        const MatrixView<const T> row_max = one_a_query(std::as_const(largest));
        twin(plan, loop::add_sink<T>, vectorized::add_sink<T>)(sink, row_max, one_a_query(sums));
        Array<T> result = empty_array<T>(sums.shape());
        twin(plan, loop::sink_weight<T>, vectorized::sink_weight<T>)(
            sink, row_max, one_a_query(std::as_const(sums)), one_a_query(result));
        return {sink_weight_outline(plan).axes, std::move(result)};
    });
}

std::string sink_weight_note(const Subject& subject) {
    std::string note =
        "What the sink takes of each query's attention: with it, the weights of a row sum to 1.";
    if (subject.tensor.size() == 0 || subject.tensor.size() > most_cells) return note;
    const Cells cells(subject.tensor);
    const std::size_t queries = subject.tensor.shape().back();
    std::size_t most = 0;
    for (std::size_t q = 1; q < queries; ++q) {
        if (cells[q] > cells[most]) most = q;
    }
    say(note, "It takes most" + shown_here(subject) +
                  within_matrix(subject, subject.ledger["weights"]) + " from " +
                  row_label(subject, most) + ": " + number(cells[most]) + ".");
    return note;
}

std::string sink_weight_code(const StepLines& of) {
    if (of.torch()) return "sink_weight = F.softmax(with_sink, dim=-1)[..., -1]";
    return "sink_weight = shares[..., -1]";
}

}  // namespace

std::vector<Input> summed_with_sink(const Plan& plan) {
    return has_sink(plan) ? std::vector<Input>{"exponentials", "row_max", "sink"}
                          : std::vector<Input>{"exponentials"};
}

std::string sink_cell(const Plan& plan) { return plan.has_head ? "sink[h]" : "sink[0]"; }

std::string sink_code(const StepLines& of) { return of.plan.has_head ? "sink[:, None]" : "sink"; }

std::string weights_with_sink_code(const StepLines& of) {
    const std::string scores = of.latest(Chain::scores);
    const std::string sink = of.plan.has_head ? "sink[:, None, None]" : "sink";
    if (of.torch()) {
        return "with_sink = torch.cat([" + scores + ", " + sink + ".expand(*" + scores +
               ".shape[:-1], 1)], dim=-1)\nweights = F.softmax(with_sink, dim=-1)[..., :-1]";
    }
    const std::string along = "(axis=-1, keepdims=True)";
    return "column = np.broadcast_to(" + sink + ", " + scores + ".shape[:-1] + (1,))\n" +
           "with_sink = np.concatenate([" + scores + ", column], axis=-1)\n" +
           "exponentials = np.exp(with_sink - with_sink.max" + along + ")\n" +
           "shares = exponentials / exponentials.sum" + along + "\nweights = shares[..., :-1]";
}

StepTable sink_cards() {
    return {{
        .name = "sink",
        .title = "the logit of a key that is not there, for each head",
        .kind = Step::Kind::parameter,
        .applies = has_sink,
        .outline = drawn_outline("sink"),
        .formula = [](const PlannedStep& of) -> std::string {
            if (*of.plan.config.sink == SinkLogit::zero) return "sink = 0 for each head";
            return std::string("a parameter: learned in training, ") +
                   (*of.plan.config.sink == SinkLogit::given ? "given" : "drawn") + " here";
        },
        .note = sink_note,
    }};
}

Step sink_weight_card() {
    return {
        .name = "sink_weight",
        .title = "how much of each query's attention the sink takes",
        .called = "sink_weights sink_prob sink_probs sink_attn weight_of_sink",
        .applies = keeps_sink_weight,
        .reads = these({Chain::scores, "sink"}),
        .outline = sink_weight_outline,
        .exponentiates = true,
        .rule = [](const PlannedStep& of) -> std::string {
            const std::string at = of.plan.has_head ? "[h,q]" : "[q]";
            return "sink_weight" + at + " = exp(" + sink_cell(of.plan) + " - row_max" + at +
                   ") / row_sum" + at;
        },
        .compute = compute_sink_weight,
        .note = sink_weight_note,
        .code = sink_weight_code,
    };
}

}  // namespace attn
