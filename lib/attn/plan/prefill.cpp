#include "attn/plan/resolve.hpp"

#include <algorithm>
#include <string>

#include "attn/plan/words.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {

std::vector<PrefillChunk> prefill_chunks(const Plan& plan) {
    const auto size = static_cast<std::size_t>(
        plan.config.prefill.value_or(static_cast<std::int64_t>(plan.query_len)));
    std::vector<PrefillChunk> chunks;
    for (std::size_t first = 0; first < plan.query_len; first += size) {
        chunks.push_back({first, std::min(size, plan.query_len - first)});
    }
    return chunks;
}

void refuse_prefill(const Plan& plan) {
    const WalkConfig& config = plan.config;
    const std::string scaling(config.rotary.scaling ? word(config.rotary.scaling->kind)
                                                    : std::string_view());
    refuse_unless(!config.prefill || *config.prefill > 0, "prefill must be at least 1");
    refuse_unless(config.mask.is_causal(),
                  "prefill walks the tokens in chunks, and no query may see the keys of a later "
                  "chunk: add $mask causal"_told);
    refuse_unless(!plan.has_memory && plan.past_len == 0,
                  "prefill fills the cache from x alone: leave the memory and the past out");
    refuse_unless(!config.mask.given, "prefill cannot cut a mask file: leave it out");
    refuse_unless(!config.rotary.scaling || !config.rotary.scaling->follows_length() ||
                      !config.rotary.scaling->exceeds(plan.rotary_tokens()),
                  "prefill with $rope-scaling "_told + scaling +
                      " would rotate the keys of each chunk by another base or list, which follow "
                      "the longest "
                      "position so far: pass another scaling");
    refuse_unless(config.softmax_axis == SoftmaxAxis::key,
                  "prefill needs softmax over the keys: leave $softmax-axis out"_told);
}

}  // namespace attn
