#include "attn/judge/trace/align.hpp"

#include <algorithm>
#include <tuple>

#include "attn/judge/trace/heads.hpp"

namespace attn {
namespace {

/// Reads a tensor with its axes in this order; `rest` has the lengths of axes that it may lack.
Operand role_of(const Trace& trace, std::size_t place, const std::vector<int>& axes,
                const Shape& rest) {
    Shape lengths;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        lengths.push_back(axes[i] >= 0 ? trace[place].shape[static_cast<std::size_t>(axes[i])]
                                       : rest[i]);
    }
    return {place, axes, arranged(trace[place], axes, lengths)};
}

class Aligner {
public:
    Aligner(const Trace& trace, const RequestedWalk& base)
        : trace_(trace), base_(base), origins_(trace) {}

    std::vector<Alignment> run() {
        std::vector<Heads> all;
        for (const Core& core : cores_in(trace_)) all.push_back(heads_of(core));
        take_questions_on_caches(trace_, all);
        std::vector<Alignment> found = alignments_of_calls(trace_, base_);
        for (std::size_t i = 0; i < all.size();) {
            const std::size_t count = heads_from(all, i);
            found.push_back(alignment_of(trace_, origins_,
                                         {all.begin() + static_cast<std::ptrdiff_t>(i),
                                          all.begin() + static_cast<std::ptrdiff_t>(i + count)},
                                         base_));
            i += count;
        }
        std::ranges::stable_sort(found, {}, &Alignment::from);
        return found;
    }

private:
    Heads heads_of(const Core& found) const {
        const Core core = with_named_roles(found);
        Heads heads{.core = core};
        const Traced& scores = trace_[core.scores];
        const int q = static_cast<int>(core.query_axis), k = static_cast<int>(core.key_axis);
        const std::vector<int> rest(core.rest.begin(), core.rest.end());
        Shape lengths;
        for (const std::size_t axis : core.rest) lengths.push_back(scores.shape[axis]);
        lengths.insert(lengths.end(), {1, 1});
        const auto with = [](std::vector<int> axes, int token, int last) {
            axes.insert(axes.end(), {token, last});
            return axes;
        };
        const int of_query = static_cast<int>(core.query_token);
        const int of_key = static_cast<int>(core.key_token);
        heads.query = role_of(trace_, core.query,
                              axes_for(core.product.a, with(rest, of_query, -1)), lengths);
        heads.key =
            role_of(trace_, core.key, axes_for(core.product.b, with(rest, of_key, -1)), lengths);
        heads.scores = steps_of_scores(trace_, core, with(rest, q, k), heads.changes);
        heads.changes.sink = sink_of(trace_, core, with(rest, q, k));
        if (core.sum) {
            // The context has its own order of axes; those of the weights identify them.
            const auto in_context = [&](int axis) {
                return core.sum->a[static_cast<std::size_t>(axis)];
            };
            std::vector<int> outer;
            for (const int axis : rest) outer.push_back(in_context(axis));
            const int feature = static_cast<int>(core.sum->axes_of_b(false).back());
            // If it was summed over the queries by mistake, its tokens are the keys.
            const bool is_transposed = in_context(k) >= 0;
            const int summed = is_transposed ? q : k, token = is_transposed ? k : q;
            heads.value =
                role_of(trace_, *core.value,
                        axes_for(core.sum->b, with(outer, in_context(summed), feature)), lengths);
            heads.context =
                role_of(trace_, *core.context, with(outer, in_context(token), feature), lengths)
                    .numbers;
        }
        take_earlier_forms(heads, lengths);
        for (Operand* each : {&heads.query, &heads.key, &heads.value}) {
            if (each->axes.empty()) continue;
            each->origin = origins_.of(each->numbers, each->place);
        }
        take_order_of_axes(heads);
        return heads;
    }

    /// Reads a projection whose tokens are not separate with samples and tokens in the order of the
    /// others.
    static void take_order_of_axes(Heads& heads) {
        const auto roles = {&heads.query, &heads.key, &heads.value};
        const bool is_turned = std::ranges::any_of(roles, [](const Operand* each) {
            return each->origin && !each->origin->channel.empty() && each->origin->has_tokens_first;
        });
        for (Operand* const each : roles) {
            const bool may_turn = each->origin && each->origin->channel.empty();
            if (may_turn && each->origin->has_tokens_first != is_turned) each->origin->turn();
        }
    }

    bool is_same_set(std::size_t a, std::size_t b) const {
        return a != b && trace_[a].all.size() == trace_[b].all.size() &&
               origins_.same_numbers(trace_[a].all, b, b + 1);
    }

    /// If a tensor is used in two roles, takes the tensor that the program calls by one of them:
    /// `q @ q.T` leaves a key unused.
    Core with_named_roles(Core core) const {
        const auto is_called = [&](std::size_t place, const std::string& role) {
            return called(trace_[place]).ends_with(role);
        };
        const auto take_last = [&](std::size_t& place, std::size_t before, const std::string& role,
                                   const auto& may_replace) {
            const Traced& now = trace_[place];
            for (std::size_t i = before; i-- > 0;) {
                if (trace_[i].shape != now.shape || !may_replace(now, trace_[i])) continue;
                if (!is_called(i, role)) continue;
                place = i;
                return;
            }
        };
        // Prefers, among tensors with the same numbers, the one that is called by the role.
        const auto prefer = [&](std::size_t& place, const std::string& role) {
            if (is_called(place, role)) return;
            take_last(place, core.scores, role,
                      [](const Traced& now, const Traced& each) { return each.all == now.all; });
        };
        prefer(core.query, "query");
        prefer(core.key, "key");
        const auto take = [&](std::size_t& place, std::size_t before, const std::string& role,
                              const std::string& used_as) {
            if (!is_called(place, used_as)) return;
            take_last(place, before, role,
                      [](const Traced& now, const Traced& each) { return each.file == now.file; });
        };
        if (core.query == core.key) {
            take(core.key, core.scores, "key", "query");
            if (core.query == core.key) take(core.query, core.scores, "query", "key");
        }
        const bool is_named = core.value && is_called(*core.value, "value");
        if (core.value && !is_named && is_same_set(*core.value, core.key)) {
            const std::optional<Contraction> sum = contraction_of(
                trace_[*core.context], trace_[core.weights], trace_[core.key], nullptr, false);
            if (sum) std::tie(core.value, core.sum) = std::pair(core.key, sum);
        }
        if (core.value && *core.value == core.key) {
            take(*core.value, *core.context, "value", "key");
        }
        return core;
    }

    /// Goes back to query and key before their scaling, repetition for groups, and rotation.
    void take_earlier_forms(Heads& heads, const Shape& lengths) const {
        for (Operand* each : {&heads.query, &heads.key}) {
            const std::optional<Before> before = scaled_before(trace_, each->place);
            if (!before) continue;
            const std::vector<double>& scaled = trace_[each->place].all;
            if (heads.changes.factor == 1) {
                heads.changes.scaled_at =
                    origins_.same_numbers(scaled, before->place + 1, each->place + 1);
            }
            if (trace_[before->place].shape == trace_[each->place].shape) {
                *each = role_of(trace_, before->place, each->axes, lengths);
            } else {
                each->place = before->place;
                for (double& number : each->numbers.all) number /= before->factor;
            }
            heads.changes.factor *= before->factor;
            if (heads.scores.front().step != "scores") continue;
            const auto again = [](const ScoreStep& step) { return step.step == "scaled_scores"; };
            if (std::ranges::none_of(heads.scores, again)) {
                heads.scores.front().step = "scaled_scores";
            } else {  // they are scaled twice
                heads.changes.beside.emplace_back(heads.scores.front().place, "scores");
                heads.scores.erase(heads.scores.begin());
            }
        }
        remove_repeats(heads.key, heads.repeated_key);
        if (!heads.value.axes.empty()) remove_repeats(heads.value, heads.repeated_value);
        const auto take = [&](Operand& role, std::optional<Operand>& rotated) {
            const std::optional<Before> before = rotated_before(trace_, role);
            if (!before) return;
            heads.pairing = before->pairing;
            heads.rotated = before->rotated;
            rotated = role;
            role = {before->place, before->axes,
                    arranged(trace_[before->place], before->axes, role.numbers.shape)};
        };
        // With a cache, nothing shows the position of the query.
        const Shape &of_query = heads.query.numbers.shape, &of_key = heads.key.numbers.shape;
        if (of_query[of_query.size() - 2] != of_key[of_key.size() - 2]) return;
        take(heads.query, heads.rotated_query);
        take(heads.key, heads.rotated_key);
    }

    /// Drops repetitions of heads with the same numbers.
    void remove_repeats(Operand& role, std::optional<Operand>& repeated) const {
        const Shape& shape = role.numbers.shape;
        if (shape.size() < 3) return;
        const std::size_t heads = shape[shape.size() - 3];
        const std::size_t block = shape.back() * shape[shape.size() - 2];
        const std::size_t outer = role.numbers.all.size() / block / heads;
        const auto is_same = [&](std::size_t a, std::size_t b) {
            for (std::size_t o = 0; o < outer; ++o) {
                const double* const first = role.numbers.all.data() + o * heads * block;
                if (!std::equal(first + a * block, first + (a + 1) * block, first + b * block)) {
                    return false;
                }
            }
            return true;
        };
        std::vector<std::size_t> once;
        for (std::size_t h = 0; h < heads; ++h) {
            if (std::ranges::none_of(once, [&](std::size_t known) { return is_same(known, h); })) {
                once.push_back(h);
            }
        }
        if (once.size() == heads || heads % once.size() != 0) return;
        Operand separated = role;
        separated.numbers.shape[shape.size() - 3] = once.size();
        separated.numbers.all.clear();
        for (std::size_t o = 0; o < outer; ++o) {
            for (const std::size_t h : once) {
                const auto first =
                    role.numbers.all.begin() + static_cast<std::ptrdiff_t>((o * heads + h) * block);
                separated.numbers.all.insert(separated.numbers.all.end(), first,
                                             first + static_cast<std::ptrdiff_t>(block));
            }
        }
        const auto place = origins_.same_numbers(separated.numbers.all, 0, role.place + 1);
        if (place) separated.place = *place;
        if (trace_[role.place].all.size() == role.numbers.all.size()) repeated = role;
        role = std::move(separated);
    }

    /// Returns the number of cores from this one on that are heads of one attention: some later
    /// tensor has all their contexts.
    std::size_t heads_from(const std::vector<Heads>& all, std::size_t first) const {
        const Heads& one = all[first];
        if (!one.context) return 1;
        std::size_t count = 1;
        while (first + count < all.size()) {
            const Heads& next = all[first + count];
            const bool is_alike = next.context && next.context->shape == one.context->shape &&
                                  next.key.numbers.shape == one.key.numbers.shape &&
                                  trace_[next.core.weights].line == trace_[one.core.weights].line &&
                                  trace_[next.core.weights].file == trace_[one.core.weights].file;
            if (!is_alike) break;
            ++count;
        }
        for (; count > 1; --count) {
            std::vector<double> together;
            for (std::size_t i = 0; i < count; ++i) {
                const std::vector<double>& part = all[first + i].context->all;
                together.insert(together.end(), part.begin(), part.end());
            }
            const std::size_t from = *all[first + count - 1].core.context;
            if (origins_.same_numbers(together, from, trace_.size(), false)) return count;
        }
        return 1;
    }

    const Trace& trace_;
    const RequestedWalk& base_;
    Origins origins_;
};

}  // namespace

std::vector<Alignment> alignments(const Trace& trace, const RequestedWalk& base) {
    return Aligner(trace, base).run();
}

}  // namespace attn
