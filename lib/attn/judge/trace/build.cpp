#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "attn/core/plan/given_sizes.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/judge/trace/heads.hpp"

namespace attn {
namespace {

/// Builds an alignment, step by step.
class Builder {
public:
    Builder(const Trace& trace, const Origins& origins, const std::vector<Heads>& heads,
            const RequestedWalk& base)
        : trace_(trace), origins_(origins), heads_(heads), one_(heads.front()) {
        alignment_.requested.config = base.config;
        alignment_.requested.specified = base.specified;
    }

    Alignment run() {
        take_sizes();
        const bool has_input = take_projections();
        take_chains();
        take_mask();
        take_after();
        ask_about_scores(trace_, one_, alignment_);
        ask_about_context(trace_, one_, alignment_);
        if (!has_input) ask_about_sources(trace_, origins_, one_, alignment_);
        ask_about_roles(trace_, origins_, one_, has_input, output_, alignment_);
        SpecifiedSettings specified = alignment_.requested.specified;
        specified.heads = specified.projection = specified.source = true;
        if (has_input) {
            config().projection = Projection::split;
            config().weight_layout = WeightLayout::out_in;
        } else {
            begin_at_query();
        }
        take_given(given_, specified, config());
        specified.mask = specified.mask || config().mask.any();
        alignment_.requested.specified = specified;
        return std::move(alignment_);
    }

private:
    WalkConfig& config() { return alignment_.requested.config; }

    void take_sizes() {
        const Shape& shape = one_.scores.front().numbers.shape;
        queries_ = shape[shape.size() - 2];
        keys_ = shape.back();
        const std::size_t axes = shape.size() - 2;
        const std::optional<Origin>& origin = one_.query.origin;
        std::size_t outer = axes > 1 ? 1 : 0;
        if (origin && queries_ > 0) {
            std::size_t samples = 1, i = 0;
            while (samples * queries_ < origin->rows() && i < axes) samples *= shape[i++];
            if (samples * queries_ == origin->rows()) outer = i;
            // Samples and heads may share one axis.
            if (samples * queries_ > origin->rows() && origin->rows() % queries_ == 0 && i == 1) {
                samples_ = origin->rows() / queries_;
            }
        }
        if (samples_ == 1) {
            for (std::size_t i = 0; i < outer; ++i) samples_ *= shape[i];
        }
        has_batch_ = outer > 0 || samples_ > 1;
        each_ = element_count(shape) / samples_ / queries_ / keys_;
        config().heads = static_cast<std::int64_t>(each_ * heads_.size());
        alignment_.changes = one_.changes;
        alignment_.questions = one_.questions;
        alignment_.from = one_.core.scores;
    }

    /// Combines numbers (rest..., token, last) of all heads to (batch, head, token, last).
    Arranged together(const std::function<Arranged(const Heads&)>& of) const {
        std::optional<Arranged> all;
        for (const Heads& head : heads_) {
            Arranged part = of(head);
            const std::size_t rows = part.shape[part.shape.size() - 2], last = part.shape.back();
            part.shape = {samples_, part.all.size() / samples_ / rows / last, rows, last};
            all = all ? beside(*all, part, 1) : std::move(part);
        }
        return *std::move(all);
    }

    /// Records a tensor as a step, under its label in the trace.
    void take(const std::string& step, std::size_t place, const Arranged& numbers) {
        // One tensor may be several steps: x is query, key and value.
        std::string label = trace_[place].label;
        if (alignment_.steps.contains(label)) label += " as " + step;
        alignment_.requested.user_tensors.record(label, numbers.tensor());
        alignment_.steps[label] = step;
        alignment_.places[label] = place;
        alignment_.from = std::min(alignment_.from, place);
    }

    bool take_projections() {
        const bool all = std::ranges::all_of(heads_, [](const Heads& head) {
            return head.query.origin && head.key.origin && head.value.origin;
        });
        if (!all || !origins_fit()) return false;
        const Arranged x = origins_.input(*one_.query.origin);
        const Arranged memory = origins_.input(*one_.key.origin);
        if (origins_.input(*one_.value.origin).all != memory.all) return false;
        const bool is_cross = memory.all != x.all;
        give("x", x, one_.query.origin->x);
        if (is_cross) give("memory", memory, one_.key.origin->x);
        project("query", &Heads::query);
        project("key", &Heads::key);
        project("value", &Heads::value);
        add_missing_biases(given_);
        return true;
    }

    /// True if the origins imply the scores' numbers of samples and heads.
    bool origins_fit() const {
        return std::ranges::all_of(heads_, [&](const Heads& head) {
            return std::ranges::all_of(
                std::array{&head.query, &head.key, &head.value}, [&](const Operand* each) {
                    const Shape& shape = each->numbers.shape;
                    const std::size_t tokens = shape[shape.size() - 2];
                    const std::size_t channels = each->origin->channel.size();
                    const std::size_t heads =
                        each->numbers.all.size() / samples_ / tokens / shape.back();
                    return each->origin->rows() == samples_ * tokens &&
                           (channels == 0 || channels == heads * shape.back());
                });
        });
    }

    void give(const std::string& name, Arranged numbers, std::size_t place) {
        const std::size_t width = numbers.shape.back();
        const std::size_t rows = numbers.all.size() / width;
        numbers.shape = has_batch_ ? Shape{samples_, rows / samples_, width} : Shape{rows, width};
        given_.record(name, numbers.tensor());
        alignment_.beside[place].push_back(name);
        alignment_.from = std::min(alignment_.from, place);
    }

    void take_parameters(const Origin& origin) {
        alignment_.parameters.push_back(origin.w);
        if (origin.b) alignment_.parameters.push_back(*origin.b);
    }

    void project(const std::string& role, Operand Heads::*member) {
        std::optional<Arranged> w, b, projected;
        for (const Heads& head : heads_) {
            const Origin& origin = *(head.*member).origin;
            std::vector<std::size_t> channels =
                origin.channel.empty() ? all_channels(origin) : origin.channel;
            // Features dealt out to the heads in turn in one role only: a mistake to judge.
            const bool are_all_dealt =
                is_dealt(one_.query) && is_dealt(one_.key) && is_dealt(one_.value);
            if (is_dealt(one_.*member) && !are_all_dealt) std::ranges::sort(channels);
            const auto add = [](std::optional<Arranged>& all, const Arranged& more,
                                std::size_t axis) { all = all ? beside(*all, more, axis) : more; };
            add(w, origins_.matrix(origin, channels), 0);
            if (origin.b) add(b, origins_.bias(origin, channels), 0);
            take_parameters(origin);
            Arranged outcome = origins_.output(origin, channels);
            outcome.shape = {samples_, origin.rows() / samples_, channels.size()};
            add(projected, outcome, 2);
        }
        const Operand& one = one_.*member;
        given_.record("w_" + role, w->tensor());
        if (b) given_.record("b_" + role, b->tensor());
        const std::string step = "projected_" + role;
        const auto place = origins_.same_numbers(projected->all, one.origin->result, one.place);
        if (place) {
            take(step, *place, *projected);
        } else if (one.origin->result != one.place) {
            alignment_.beside[one.origin->result].push_back(step);
        }
    }

    /// Starts the walk from query, key and value if there is no input.
    void begin_at_query() {
        alignment_.takes_projections = true;
        WalkConfig& walk = config();
        walk.projection = Projection::none;
        walk.input = RandomInput{};
        if (has_batch_) walk.batch = static_cast<std::int64_t>(samples_);
        walk.query_len = static_cast<std::int64_t>(queries_);
        walk.head_dim = static_cast<std::int64_t>(one_.query.numbers.shape.back());
        if (one_.context) walk.value_dim = static_cast<std::int64_t>(one_.context->shape.back());
        if (keys_ == queries_) return;
        walk.memory = RandomInput{};
        walk.key_len = static_cast<std::int64_t>(keys_);
    }

    void take_chains() {
        const auto numbers = [](Operand Heads::*member) {
            return [member](const Heads& head) { return (head.*member).numbers; };
        };
        const auto take_role = [&](const std::string& role, Operand Heads::*member) {
            const Operand& one = one_.*member;
            if (one.axes.empty()) return;
            const Arranged all = together(numbers(member));
            take(role, one.place, all);
            if (role == "key" && all.shape[1] < static_cast<std::size_t>(config().heads)) {
                config().kv_heads = static_cast<std::int64_t>(all.shape[1]);
            }
        };
        take_role("query", &Heads::query);
        take_role("key", &Heads::key);
        take_role("value", &Heads::value);
        if (one_.pairing && !config().rotary.pairing) {
            config().rotary.pairing = one_.pairing;
            if (one_.rotated < one_.query.numbers.shape.back()) {
                config().rotary.dim = static_cast<std::int64_t>(one_.rotated);
            }
            take_later("rotated_query", &Heads::rotated_query);
            take_later("rotated_key", &Heads::rotated_key);
        }
        take_later("repeated_key", &Heads::repeated_key);
        take_later("repeated_value", &Heads::repeated_value);
        for (const auto& [place, step] : one_.changes.beside) {
            alignment_.beside[place].push_back(step);
        }
        if (one_.scores.front().step == "scaled_scores") {  // the query was scaled
            alignment_.beside[one_.scores.front().place].push_back("scores");
        }
        for (std::size_t i = 0; i < one_.scores.size(); ++i) {
            const bool all = std::ranges::all_of(heads_, [&](const Heads& head) {
                return i < head.scores.size() && head.scores[i].step == one_.scores[i].step;
            });
            if (!all) continue;
            if (one_.scores[i].step == "exponentials") {  // the weights show whether they are right
                alignment_.beside[one_.scores[i].place].push_back("exponentials");
                continue;
            }
            take(one_.scores[i].step, one_.scores[i].place,
                 together([i](const Heads& head) { return head.scores[i].numbers; }));
        }
        if (one_.context) {
            take("context", *one_.core.context,
                 together([](const Heads& head) { return *head.context; }));
        }
        take_dropout();
        if (one_.changes.softcap != 0 && config().softcap == 0) {
            config().softcap = rounded_cap(one_.changes.softcap);
        }
        if (one_.changes.sink && !config().sink) {
            const Arranged logits = together([](const Heads& head) { return *head.changes.sink; });
            given_.record("sink", sink_of_heads(logits).tensor());
            config().sink = SinkLogit::given;
        }
        if (one_.changes.added && !config().position_bias) {
            Arranged bias = together([](const Heads& head) { return *head.changes.added; });
            config().position_bias = PositionBias();
            std::vector<double> slopes;
            if (queries_ == keys_) slopes = slopes_of(bias.all, bias.shape[1], keys_);
            if (!is_alibi(slopes)) {
                if (slopes.size() > 1) ask_about_slopes(trace_, one_, slopes, alignment_);
                config().position_bias->kind = PositionBias::Kind::file;
                config().position_bias->given = broadcast(std::move(bias)).tensor();
            }
            // T5 has a bias and no scale.
            const bool is_unscaled = alignment_.changes.factor == 1 && slopes.empty();
            if (is_unscaled && config().scale.by == ScaleChoice::By::head_dim) {
                config().scale.by = ScaleChoice::By::none;
            }
        }
    }

    /// Gives the cells that dropout kept, as the weights show them.
    void take_dropout() {
        const ScoreStep& dropped = one_.scores.back();
        if (one_.changes.dropout == 0 || config().dropout.p > 0 || heads_.size() > 1) return;
        Arranged after = together([](const Heads& head) { return head.scores.back().numbers; });
        set_shown_dropout(one_.changes.dropout, broadcast(std::move(after)).tensor(),
                          config().dropout);
        ask_about_dropout(trace_[dropped.place], alignment_);
    }

    void take_later(const std::string& step, std::optional<Operand> Heads::*member) {
        if (!(one_.*member)) return;
        take(step, (one_.*member)->place,
             together([member](const Heads& head) { return (head.*member)->numbers; }));
    }

    void take_mask() {
        if (alignment_.requested.specified.mask) return;
        const std::optional<Arranged> hidden = hidden_cells(one_.scores);
        const bool is_square = queries_ == keys_ && keys_ > 1;
        const bool has_tensor = is_square && has_causal_tensor(trace_, one_.core.softmaxed, keys_);
        if (has_tensor && !hidden && hides_nothing(one_)) {
            alignment_.ask(trace_[one_.core.softmaxed], no_mask_here);
            return;
        }
        if (hidden) ask_about_hidden(trace_, one_, *hidden, alignment_);
        Arranged all = hidden.value_or(Arranged());
        const auto beside = is_square && hidden ? next_to_causal(hidden->all, keys_) : std::nullopt;
        config().mask.causal = config().mask.causal || has_tensor || beside;
        if (beside) all.all = *beside;
        const bool hides_more = hidden && std::ranges::count(all.all, 0) < std::ssize(all.all);
        if (!hides_more || (has_tensor && !beside)) return;
        if (is_square && !beside) ask_about_mask(trace_, one_, hidden->all, keys_, alignment_);
        all.shape = {samples_, all.all.size() / samples_ / queries_ / keys_, queries_, keys_};
        if (heads_.size() > 1) return;
        config().mask.given = broadcast(std::move(all)).tensor();
    }

    /// Returns (batch, head, query, key), with only the axes of the walk.
    Arranged broadcast(Arranged all) const {
        Shape shape;
        if (has_batch_) shape.push_back(samples_);
        if (all.shape[1] > 1) {
            shape.push_back(all.shape[1]);
        } else if (has_batch_ && alignment_.requested.config.heads > 1) {
            shape.push_back(1);
        }
        shape.insert(shape.end(), {queries_, keys_});
        all.shape = shape;
        return all;
    }

    void take_after() {
        if (!one_.context) return;
        const Arranged context = together([](const Heads& head) { return *head.context; });
        const std::size_t width = context.shape[1] * context.shape[3];
        const std::size_t first = *one_.core.context;
        const std::size_t end = std::min(trace_.size(), *heads_.back().core.context + 40);
        std::vector<std::size_t> forms{first};
        std::optional<std::size_t> merged;
        while (const auto same = origins_.same_numbers(context.all, forms.back() + 1, end)) {
            forms.push_back(*same);
            if (trace_[*same].shape.back() == width) merged = same;
        }
        if (merged && context.shape[1] > 1) {
            const Traced& outcome = trace_[*merged];
            const Shape shape{samples_, queries_, width};
            const bool is_transposed =
                has_tokens_first() && outcome.rank() == 3 && !has_samples_first(outcome, context);
            is_merged_by_samples_ = !is_transposed;
            take("merged", *merged,
                 is_transposed ? arranged(outcome, {1, 0, 2}, shape)
                               : Arranged{shape, outcome.all, outcome.dtype});
        }
        for (std::size_t i = first + 1; i < end; ++i) {
            for (const std::size_t form : forms) {
                if (form >= i) continue;
                // A bias may be added by the expression around the product.
                for (std::size_t later = std::min(i + 2, end - 1); later >= i; --later) {
                    if (take_output(later, form, width, later > i, merged.has_value())) return;
                }
            }
        }
    }

    bool has_tokens_first() const {
        return one_.query.origin && one_.query.origin->has_tokens_first;
    }

    bool take_output(std::size_t place, std::size_t from, std::size_t width, bool has_bias,
                     bool has_merged) {
        std::optional<Origin> origin = origins_.product_at(place, from);
        if (origin && has_tokens_first() && !is_merged_by_samples_) origin->turn();
        if (!origin || origin->rows() != samples_ * queries_) return false;
        if (has_bias && !origin->b) return false;
        const Arranged w = origins_.matrix(*origin, all_channels(*origin));
        const std::size_t all = static_cast<std::size_t>(config().heads) *
                                (one_.context ? one_.context->shape.back() : 0);
        if (w.shape[1] != width || w.shape[1] != all) return false;
        output_ = origin;
        take_parameters(*origin);
        given_.record("w_output", w.tensor());
        if (origin->b) {
            given_.record("b_output", origins_.bias(*origin, all_channels(*origin)).tensor());
        }
        Arranged output = origins_.output(*origin, all_channels(*origin));
        output.shape = {samples_, queries_, origin->channels};
        place = origins_.same_numbers(output.all, from, place).value_or(place);
        if (!has_merged && config().heads > 1) alignment_.beside[place].push_back("merged");
        take("output", place, output);
        return true;
    }

    const Trace& trace_;
    const Origins& origins_;
    const std::vector<Heads>& heads_;
    const Heads& one_;
    std::size_t samples_ = 1, queries_ = 0, keys_ = 0, each_ = 1;  ///< heads per core
    bool has_batch_ = false, is_merged_by_samples_ = false;
    std::optional<Origin> output_{};
    Ledger given_{};
    Alignment alignment_{};
};

}  // namespace

Alignment alignment_of(const Trace& trace, const Origins& origins, const std::vector<Heads>& heads,
                       const RequestedWalk& base) {
    return Builder(trace, origins, heads, base).run();
}

}  // namespace attn
