#include "attn/models/without.hpp"

#include <memory>
#include <utility>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn::models {

Without parse_without(std::string_view word) {
    Without result{.word = std::string(word)};
    std::string_view left = word;
    if (result.mean = left.ends_with("=mean"); result.mean) left.remove_suffix(5);
    const std::size_t dot = std::min(left.find('.'), left.size());
    const std::string_view part = left.substr(std::min(dot + 1, left.size()));
    const auto layer = parse_whole<std::size_t>(left.substr(0, dot));
    const auto head = parse_whole<std::size_t>(part);
    if (!layer || (part != "attn" && part != "mlp" && !head)) {
        throw ConfigError("$without "_message + quoted_text(word) +
                          " is not a part of a model: ask for a head as 3.7, or for 3.attn or "
                          "3.mlp, with =mean after it for the mean over the tokens");
    }
    result.layer = *layer;
    result.head = head.value_or(0);
    result.part = head             ? Without::Part::head
                  : part == "attn" ? Without::Part::attention
                                   : Without::Part::mlp;
    return result;
}

void check_without(const Without& without, const Architecture& of) {
    refuse_unless(without.part <= Without::Part::mlp, "a part is a head, attention or MLP");
    const bool has_layer = without.layer < of.layers.size();
    if (has_layer && without.head < of.heads) return;
    throw ConfigError("$without "_message + without.word +
                      (has_layer
                           ? ": the heads are 0 to " + std::to_string(of.heads - 1)
                           : ": the layers are 0 to " + std::to_string(of.layers.size() - 1)));
}

Mistake as_mistake(const Without& without, std::size_t heads) {
    const bool is_head = without.part == Without::Part::head;
    const std::string number = std::to_string(without.head);
    Mistake result;
    result.id = "without " + without.word;
    result.step = is_head ? "context" : "output";
    result.title = is_head ? "Head " + number + " is left out" : "The attention is left out";
    result.effect = without.mean ? "each token gets the mean of this contribution over the tokens"
                                 : "it adds 0 to each token";
    result.not_applicable = [](const Plan&) { return std::string(); };
    const std::string instead = !without.mean ? "0"
                                : !is_head    ? "mean i: output[i,c]"
                                : heads > 1   ? "(mean i: context[h,i,f])"
                                              : "mean i: context[i,f]";
    WrongRule rule;
    rule.step = result.step;
    rule.rule = PlanRule(!is_head    ? "output[t,c] = " + instead
                         : heads > 1 ? "context[h,t,f] = if h == " + number + " then " + instead +
                                           " else context[h,t,f]"
                                     : "context[t,f] = " + instead);
    // If tokens come one at a time, the mean stays that of the text.
    rule.compute = [head = is_head ? without.head : 0, is_head, heads,
                    replace = std::make_shared<Replacement>(without.mean)](
                       const Plan& plan, const Ledger& ledger, const Compute& before) {
        const Tensor right = before(plan, ledger);
        return with_floating(right.dtype(), [&]<class T>(T) -> Tensor {
            Array<T> cells = right.as<T>();
            const std::size_t features = right.shape().back();
            const std::size_t tokens = right.shape()[right.dimension() - 2];
            const std::size_t text = (is_head ? heads : 1) * tokens * features;
            for (std::size_t first = 0; first < cells.size(); first += text) {
                (*replace)(cells.data() + first + head * tokens * features, tokens, features);
            }
            return {right.axes(), std::move(cells)};
        });
    };
    result.apply = follows(std::move(rule));
    return result;
}

}  // namespace attn::models
