// Rules in Python. tests/check_program.py and tests/check_ipynb.py run the lines.
#include <doctest/doctest.h>

#include <map>

#include "attn/core/rules/complete.hpp"
#include "attn/explain/codegen/python.hpp"
#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

const std::map<std::string, Outline>& tensors() {
    static const std::map<std::string, Outline> all{
        {"left", {{"head", "row", "feature"}, {2, 3, 4}}},
        {"right", {{"head", "column", "feature"}, {2, 5, 4}}},
        {"shared", {{"row", "feature"}, {3, 4}}},
        {"matrix", {{"out", "in"}, {8, 4}}},
        {"flat", {{"row", "feature"}, {3, 8}}},
        {"blocks", {{"row", "feature"}, {3, 12}}},
        {"past", {{"head", "row", "feature"}, {2, 2, 4}}},
        {"groups", {{"head", "row", "feature"}, {1, 3, 4}}},
        {"gain", {{"feature"}, {4}}},
        {"def", {{"head", "row", "time", "feature"}, {2, 3, 4, 4}}},
        {"table", {{"entry", "feature"}, {9, 4}}},
        {"places", {{"row"}, {3}}},
        {"mask", {{"row", "column"}, {3, 5}}},
    };
    return all;
}

/// The line of a rule that makes a tensor of this shape.
std::string python(const std::string& rule, const Shape& result, bool is_torch = true,
                   const std::string& type = "float32", bool records = false) {
    Rule whole = parse_rule(rule);
    Outline outline{{}, result};
    for (std::size_t i = 0; i < result.size(); ++i)
        outline.axes.push_back("axis" + std::to_string(i));
    const auto type_of = [](const std::string& name) {
        return name == "places" ? RuleType::whole
               : name == "mask" ? RuleType::truth
                                : RuleType::number;
    };
    const auto outline_of = [](const std::string& name) { return tensors().at(name); };
    whole = completed(whole, outline,
                      {[](const std::string& name) { return name; }, outline_of, {}, type_of});
    const std::string line = rule_python(whole, {is_torch, result, type, records});
    return line.substr(line.find(" = ") + 3);
}

}  // namespace

TEST_SUITE("rules: Python") {
    TEST_CASE("a sum of products is a matrix product") {
        CHECK(python("s[h,r,c] = sum f: left[h,r,f] * right[h,c,f]", {2, 3, 5}) ==
              "left @ right.transpose(-2, -1)");
        CHECK(python("s[h,r,c] = sum f: right[h,c,f] * left[h,r,f]", {2, 3, 5}, false) ==
              "left @ right.swapaxes(-2, -1)");
        CHECK(python("s[r,o] = (sum c: shared[r,c] * matrix[o,c]) + 1", {3, 8}) ==
              "shared @ matrix.T + 1");
        CHECK(python("s[h,c,r] = sum f in 0..2: right[h,c,f] * left[h,r,f]", {2, 5, 3}) ==
              "right[..., :2] @ left[..., :2].transpose(-2, -1)");
    }

    // NumPy adds a product's terms in another order than a sum's: two ways to write one number
    // would have different last digits, and the largest would not be found again.
    TEST_CASE("sums under a maximum or in a comparison are not matrix products") {
        for (const bool is_torch : {true, false}) {
            CHECK(python("s[h,r] = max c: (sum f: left[h,r,f] * right[h,c,f])", {2, 3}, is_torch)
                      .find('@') == std::string::npos);
            CHECK(python(
                      "s[r,o] = if (sum c: shared[r,c] * matrix[o,c]) == shared[r,0] then 1 else 0",
                      {3, 8}, is_torch)
                      .find('@') == std::string::npos);
            const std::string both = python(
                "s[r,o] = (sum c: shared[r,c] * matrix[o,c]) + max(0, (sum c: shared[r,c] * "
                "matrix[o,c]))",
                {3, 8}, is_torch);
            CHECK(both.starts_with("shared @ matrix.T + "));
            CHECK(both.find('@') == both.rfind('@'));
        }
    }

    TEST_CASE("the remaining indices of a sum become the other dimensions") {
        CHECK(python("m[h,r] = max f: left[h,r,f]", {2, 3}) == "left.amax(-1)");
        CHECK(python("m[h,f] = min r: left[h,r,f]", {2, 4}, false) == "left.min(-2)");
        CHECK(python("n[r,f] = shared[r,f] / sqrt((mean g: shared[r,g] ^ 2) + 2) * gain[f]",
                     {3, 4}) ==
              "shared / torch.sqrt((shared ** 2).mean(-1, keepdim=True) + 2) * gain");
        CHECK(python("n[h,r,f] = left[h,r,f] - (mean i: mean g: left[i,r,g])", {2, 3, 4}, false) ==
              "left - left.mean(-1, keepdims=True).mean(-3)");
        CHECK(python("n[o,i] = sum h: sum r: left[h,r,o] * left[h,r,i]", {4, 4}) ==
              "(left[..., None] * left[:, :, None]).sum(-3).sum(-3)");
    }

    TEST_CASE("an index in an index slices, splits, joins or gathers") {
        CHECK(python("p[r,f] = blocks[r, 4 + f]", {3, 4}) == "blocks[:, 4:8]");
        CHECK(python("p[r,f] = blocks[r, 2 * f + 1]", {3, 6}) == "blocks[:, 1::2]");
        CHECK(python("p[h,r,f] = flat[r, h * 4 + f]", {2, 3, 4}) ==
              "flat.reshape(3, 2, 4).transpose(-3, -2)");
        CHECK(python("p[h,r,f] = blocks[r, h * 6 + 2 + f]", {2, 3, 4}, false) ==
              "blocks.reshape(3, 2, 6)[..., 2:].swapaxes(-3, -2)");
        CHECK(python("p[r,c] = left[c / 4, r, c % 4]", {3, 8}) ==
              "left.transpose(-3, -2).reshape(3, 8)");
        CHECK(python("p[r,f] = table[places[r], f]", {3, 4}) == "table[places]");
        CHECK(python("p[h,r,f] = left[h / 2, r, f]", {4, 3, 4}, false) ==
              "left[np.arange(4) // 2]");
        CHECK(python("p[h,r,f] = groups[h / 2, r, f]", {2, 3, 4}) == "groups.expand(2, 3, 4)");
        CHECK(python("p[r] = shared[r, 3 - r]", {3}) ==
              "shared[torch.arange(3), torch.arange(3, 0, -1)]");
        // The branch of `where` that is not taken would read outside.
        CHECK(python("p[r] = if r > 0 then gain[r - 1] else 7", {3}) ==
              "torch.where(torch.arange(3, dtype=torch.float32) > 0, "
              "gain[torch.arange(-1, 2).clip(0, 3)], 7.0)");
    }

    TEST_CASE("pieces are concatenated") {
        // A boundary between two cells falls on neither: 0 and 1 come before 1.5.
        const std::string cut = "c[r,f] = if r < 1.5 then shared[r,f] else shared[r - 1,f]";
        CHECK(python(cut, {3, 4}).find("cat(") == std::string::npos);
        const std::string far = "c[r,f] = if r < 1e300 then shared[r,f] else shared[r - 1,f]";
        CHECK(python(far, {3, 4}).find("cat(") == std::string::npos);
        CHECK(python("p[h,t,f] = if t < 2 then past[h,t,f] else left[h,t - 2,f]", {2, 5, 4}) ==
              "torch.cat((past, left), dim=-2)");
        CHECK(python("p[r,f] = if f < 1 then shared[r,f] else gain[f] * 2", {3, 4}, false) ==
              "np.concatenate((shared[:, :1], np.broadcast_to(gain[1:] * 2, (3, 3))), axis=-1)");
    }

    TEST_CASE("a loop makes the rows of any axis, and its names are no keywords of Python") {
        const std::string lines = "np.zeros((2, 3, 4, 4), dtype=np.float32)\nfor t in range(4):\n";
        CHECK(python("def[a,b,t,f] = if t == 0 then gain[f] else 0.5 * def[a,b,t - 1,f]",
                     {2, 3, 4, 4}, false) ==
              lines + "    def_[:, :, t] = (gain if t == 0 else 0.5 * def_[:, :, t - 1])");
        CHECK(python("def[a,b,t,f] = if not (t > 0 and f < 4) then gain[f] else def[a,b,t - 1,f]",
                     {2, 3, 4, 4}, false) ==
              lines + "    def_[:, :, t] = (def_[:, :, t - 1] if t > 0 else gain)");
        CHECK(python("s[r,f] = def[0,0,r + 0,f]", {3, 4}, false) ==
              "def_[0, 0, np.arange(3)[:, None], np.arange(4)]");
    }

    TEST_CASE("an operation that PyTorch cannot differentiate is written in another way") {
        CHECK(python("s[f] = gain[f] // 2", {4}, true, "float32", true) == "torch.floor(gain / 2)");
        CHECK(python("s[f] = gain[f] // 2", {4}) == "gain // 2");
    }

    TEST_CASE("numbers, booleans and values without a dimension of their own") {
        CHECK(python("mask[r,c] = c > r + 1 or c <= r - 2", {3, 5}, true, "") ==
              "(torch.arange(5) > torch.arange(1, 4)[:, None]) | (torch.arange(5) <= "
              "torch.arange(-2, 1)[:, None])");
        CHECK(python("s[r,c] = if mask[r,c] then -inf else shared[r,0]", {3, 5}) ==
              "torch.where(mask, -float(\"inf\"), shared[torch.arange(3)[:, None], 0])");
        CHECK(python("s[i] = 1 / 100 ^ (2 * i / 8)", {4}, false) ==
              "1 / 100 ** (np.arange(0, 8, 2, dtype=np.float32) / 8)");
        CHECK(python("s[i] = (i + 1) / 2", {1}, false) == "np.arange(1, 2, dtype=np.float32) / 2");
        CHECK(python("s[r,f] = 1 / 3", {2, 2}, true, "float64") ==
              "torch.full((2, 2), 1 / 3, dtype=torch.float64)");
        CHECK(python("s[f] = 0", {4}) == "torch.full((4,), 0).to(torch.float32)");
        CHECK(python("s[f] = gain[if f < 2 then 2 * f else 2 * (f - 2) + 1]", {4}) ==
              "gain[torch.cat((torch.arange(0, 4, 2), torch.arange(1, 5, 2)), dim=-1)]");
        CHECK(python("s[f] = gain[if f < 7 / 2 then f else 0]", {4}) ==
              "gain[torch.where(torch.arange(4) < 3, torch.arange(4), 0)]");
        CHECK(python("s[f] = max(gain[f], 0) - (gain[f] - 1) ^ 2", {4}) ==
              "gain.clamp(min=0) - (gain - 1) ** 2");
    }

    TEST_CASE("a range that differs from cell to cell becomes a condition") {
        CHECK(python("s[r] = sum f in r..4: shared[r,f]", {3}) ==
              "torch.where(torch.arange(4) >= torch.arange(3)[:, None], shared, 0.0).sum(-1)");
        // Its index counts from the start of the first range to the end of the last one.
        CHECK(python("s[r,f] = sum j in 0..f + 1: shared[r,f - j]", {3, 4}, false) ==
              "np.where(np.arange(4) < np.arange(1, 5)[:, None], "
              "shared[:, (np.arange(4)[:, None] - np.arange(4)).clip(0, 3)], 0.0).sum(-1)");
        CHECK(python("s[f] = max j in max(f - 1, 0)..min(f + 2, 4): gain[j]", {4}, false) ==
              "np.where((np.arange(4) >= np.maximum(np.arange(-1, 3)[:, None], 0)) & (np.arange(4) "
              "< np.minimum(np.arange(2, 6)[:, None], 4)), gain, -float(\"inf\")).max(-1)");
        CHECK(python("s[r] = sum j in -1..3: shared[r,j + 1]", {3}) == "shared.sum(-1)");
        CHECK(python("s[r] = max j in 0..6: shared[r,j / 2]", {3}) ==
              "shared[:, torch.arange(6) // 2].amax(-1)");
        CHECK(python("s[f] = sum j in places[0]..places[1]: gain[j] * gain[f]", {4}, false)
                  .find("arange(4) < places[1]") != std::string::npos);
        CHECK_THROWS_AS(python("s[f] = sum j in 0..places[1]: j", {4}), ConfigError);
    }

    TEST_CASE("a sum over a constant, and over nothing, needs no dimension") {
        CHECK(python("s[r,f] = mean j in 0..3: shared[r,f]", {3, 4}) == "shared");
        CHECK(python("s[r,f] = sum j in 0..3: shared[r,f]", {3, 4}) == "3 * shared");
        CHECK(python("s[r,f] = sum j in 1..r: shared[r,f]", {3, 4}, false) ==
              "np.where(1 < np.arange(3, dtype=np.float32)[:, None], np.arange(-1, 2, "
              "dtype=np.float32)[:, None] * shared, 0.0)");
        CHECK(python("s[f] = gain[f] + max j in 3..1: gain[j]", {4}) ==
              "gain + torch.tensor(-float(\"inf\"), dtype=torch.float32)");
        CHECK(python("s[f] = gain[f] * max a in 0..65537: a", {4}).starts_with("gain * torch"));
    }

    TEST_CASE("constants are Python numbers, and known conditions are not tested") {
        CHECK(python("s[f] = gain[f] * abs(-0.5) + floor(2 * 7 / 4)", {4}) == "gain * 0.5 + 3");
        CHECK(python("s[f] = relu(-2) + gain[f] / half(0.1)", {4}) == "0 + gain / 0.0999755859375");
        CHECK(python("s[f] = gain[f] / (1 / 0) + log(0) * (-8) ^ 0.5", {4}) ==
              "gain / float(\"inf\") + float(\"nan\")");
        CHECK(python("s[f] = if 2 > 3 then 0.5 else gain[f]", {4}, false) == "gain");
        CHECK(python("s[f] = if not (1 == 1) or f > 1 then gain[f] else 0.1", {4}, false) ==
              "np.where(np.arange(4, dtype=np.float32) > 1, gain, 0.1)");
        CHECK(python("mask[r,c] = 1 < 2", {3, 5}) == "torch.full((3, 5), True)");
        CHECK(python("s[f] = if gain[f] > 0 then 0.1 else 0.3", {4}, true, "float64") ==
              "torch.where(gain > 0, torch.tensor(0.1, dtype=torch.float64), 0.3)");
        CHECK(python("b[f] = f - 1 + places[0]", {4}, false, "int64") ==
              "(np.arange(-1, 3, dtype=np.int64) + places[0]).astype(np.int64)");
        CHECK(python("s[r] = gain[0] ^ places[r]", {3}) == "gain[0] ** places.to(torch.float32)");
    }

    TEST_CASE("PyTorch gets no nan gradients from the branch that is not taken") {
        const std::string rule = "s[f] = if gain[f] > 0 then log(gain[f]) else 2 / (gain[f] - 1)";
        CHECK(python(rule, {4}) == "torch.where(gain > 0, torch.log(gain), 2 / (gain - 1))");
        CHECK(python(rule, {4}, true, "float32", true) ==
              "torch.where(gain > 0, torch.log(torch.where(gain > 0, gain, 1.0)), 2 / "
              "torch.where(~(gain > 0), gain - 1, 1.0))");
        CHECK(python("s[f] = half(gain[f])", {4}, true, "float32", true) ==
              "gain + (gain.half().to(torch.float32) - gain).detach().nan_to_num(0, "
              "float(\"inf\"), -float(\"inf\"))");
    }

    TEST_CASE("an invalid rule is an error") {
        const Rule right = parse_rule("s[f] = f");
        CHECK_THROWS_AS(rule_python(Rule{}, {true, {4}, "float32"}), Error);
        CHECK_THROWS_AS(rule_python(right, {true, {4, 4}, "float32"}), Error);
        CHECK_THROWS_AS(rule_python(parse_rule("s[f] = g"), {true, {4}, "float32"}), Error);
        CHECK_THROWS_AS(rule_python(parse_rule("s[f] = gain[f]"), {true, {4}, "float32"}), Error);
        CHECK_THROWS_AS(rule_python(parse_rule("s[f] = D"), {true, {4}, "float32"}), Error);
        CHECK_THROWS_AS(rule_python(parse_rule("s[f] = sum j: j"), {true, {4}, "float32"}), Error);
    }
}
