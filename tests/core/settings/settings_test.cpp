#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

/// The settings line of a configuration.
std::string line_of(const WalkConfig& config) {
    std::string line;
    for (const Setting& setting : settings()) {
        const std::optional<std::string> text = specified(setting, config);
        if (!text) continue;
        line += (line.empty() ? "" : ", ") + setting.name + (text->empty() ? "" : " " + *text);
    }
    return line;
}

std::string refused(const std::string& line) {
    try {
        configured(line);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "taken";
}

}  // namespace

TEST_SUITE("settings") {
    TEST_CASE("a line sets the same values as assignments to members") {
        const WalkConfig config = configured(
            "heads 6, kv-heads 2, mask causal,window:4, bias, rope half, rope-theta 500000, "
            "scale 0.25, position-bias t5:8:16, differential 3, lengths 4,2");
        CHECK(config.heads == 6);
        CHECK(config.kv_heads == 2);
        CHECK(config.mask.causal);
        CHECK(config.mask.window == 4);
        CHECK_FALSE(config.mask.padding);
        CHECK(config.bias);
        CHECK(config.rotary.pairing == Pairing::half);
        CHECK(config.rotary.theta == 500000);
        CHECK(config.scale.by == ScaleChoice::By::number);
        CHECK(config.scale.number == 0.25);
        CHECK(config.position_bias->buckets == 8);
        CHECK(config.differential.depth == 3);
        CHECK(config.lengths == std::vector<std::int64_t>{4, 2});
        CHECK(std::get<Tokens>(configured("ids 1,2;3,0, vocab-size 9, pad-id 0").input).pad_id ==
              0);
        CHECK(configured("memory-len 3").memory.has_value());
        CHECK(configured("merge").merge == true);
        CHECK(configured("no-merge").merge == false);
        CHECK(configured(" ").heads == 1);
    }
    TEST_CASE("a configuration prints the line that makes it again") {
        for (const std::string line :
             {"heads 3",
              "embed-dim 12, heads 6, kv-heads 2, head-dim 4, value-dim 5, output-dim 7",
              "projection fused-by-head, init zeros,zeros,identity, bias, draw-order kqv",
              "weight-layout in-out, output-projection, output-bias, merge",
              "mask causal,window:4,chunk:3,documents:2+3,padding, lengths 4,2",
              "mask dilated:3:2, causal-align end, empty-row zero, scale none, softcap 50",
              "scale 0.125, softmax-axis query",
              "ids 1,2,0,0;1,2,3,4, vocab-size 9, pad-id 0",
              "batch 2, seq-len 7, memory-len 3",
              "random rand",
              "position-embedding sinusoidal, positions 3,4,5;1,2",
              "rope interleaved, rope-theta 500000, rotary-dim 2, qk-norm all, qk-norm-place after",
              "rope half, rope-scaling yarn:4:64:8:1:truncate=false:mscale=2",
              "rope-scaling longrope:32:4096:1,1.1:2,40",
              "rope-scaling llama3:8:1:4:8192",
              "position-bias alibi",
              "position-bias t5:8:16, norm-eps 0.5",
              "sink randn, past 3",
              "prefill 2, differential 0",
              "mla 6, mla-query-rank 5, mla-absorbed",
              "weights-by sigmoid, form recurrent, x-norm rms, x-norm-eps 0.25",
              "rng numpy, seed 18446744073709551613, torch-build portable, redraw 2",
              "burn rand:384,randn:7, burn-before randn:3, dtype float16, compute-dtype float64",
              "variant loop, single-chain, threads 2"}) {
            INFO(line);
            CHECK(configured(line_of(configured(line))).heads == configured(line).heads);
            std::vector<std::string> meant, reported;
            for (const auto& [name, text] : settings_in(line)) meant.push_back(name + " " + text);
            for (const auto& [name, text] : settings_in(line_of(configured(line)))) {
                reported.push_back(name + " " + text);
            }
            std::ranges::sort(meant);
            std::ranges::sort(reported);
            // If everything is drawn, no setting gives a tensor.
            CHECK(meant == reported);
        }
    }
    TEST_CASE("a setting that a line cannot express is reported by its name") {
        CHECK(refused("heads 0") == "heads must be at least 1, not 0");
        CHECK(refused("heads") == "heads lacks its value");
        CHECK(refused("bias yes") == "bias takes no value: leave out yes");
        CHECK(refused("head 3") == "there is no setting 'head'; did you mean heads?");
        CHECK(refused("mask causal,causal") == "mask says causal twice: leave one out");
        CHECK(refused("rope sideways") == "rope 'sideways' is unknown: use half or interleaved");
        CHECK(refused("vocab-size 3") == "vocab-size belongs to text or ids: set them first");
        CHECK(refused("weights w.npz") ==
              "weights cannot be set in a line: the caller of the library must read it");
        CHECK(refused("attention retention") == "taken");
        CHECK(refused("attention retentoin").find("did you mean retention?") != std::string::npos);
    }
    TEST_CASE("every setting has one name, and one key in a record") {
        for (const Setting& setting : settings()) {
            CHECK(&find_setting(setting.name) == &setting);
            const auto same = [&](const Setting& other) { return other.key == setting.key; };
            if (!setting.key.empty()) CHECK(std::ranges::count_if(settings(), same) == 1);
        }
    }
}
