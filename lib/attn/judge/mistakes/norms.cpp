#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Norms of query and key by another rule.

namespace attn {
namespace {

/// Normalises by another rule: `{x}` is the previous tensor, `{mean}` the mean of its squares, over
/// the axes of the walk or over the others.
TableEdit normed_as(const std::string& pattern, bool over_the_other_axes) {
    return for_each_step({"normed_query", "normed_key"}, [=](const std::string& step) {
        return follows([=](const Plan& plan) {
            const bool all = plan.config.qk_norm.over == NormOver::all && plan.has_head;
            const bool is_query = step == "normed_query";
            const std::string chain = is_query ? "queries" : "keys";
            const std::string cell = all || over_the_other_axes ? "[h,t,f]" : "[t,f]";
            std::string mean = "(mean g: " + chain + (all ? "[h,t,g] ^ 2)" : "[t,g] ^ 2)");
            if (all != over_the_other_axes) mean = "(mean i: mean g: " + chain + "[i,t,g] ^ 2)";
            const std::string gain =
                std::string(is_query ? "g_query" : "g_key") + (all ? "[h * D + f]" : "[f]");
            const std::string rule = step + cell + " = " + pattern + " * " + gain;
            return in_words(filled(rule, {{"x", chain + cell}, {"mean", mean}}), step, plan);
        });
    });
}

}  // namespace

TableEdit norm_by(const std::string& pattern) { return normed_as(pattern, false); }
TableEdit norm_over_other_axes(const std::string& pattern) { return normed_as(pattern, true); }

}  // namespace attn
