// Rules in Python. tests/check_program.py and tests/check_ipynb.py run the lines.
#include <doctest/doctest.h>

#include <map>

#include "attn/rules/complete.hpp"
#include "attn/rules/print.hpp"

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
        {"table", {{"entry", "feature"}, {9, 4}}},
        {"places", {{"row"}, {3}}},
        {"mask", {{"row", "column"}, {3, 5}}},
    };
    return all;
}

/// The line of a rule that makes a tensor of this shape.
std::string python(const std::string& rule, const Shape& made, bool is_torch = true,
                   const std::string& type = "float32") {
    Rule whole = parse_rule(rule);
    Outline outline{{}, made};
    for (std::size_t i = 0; i < made.size(); ++i)
        outline.axes.push_back("axis" + std::to_string(i));
    const auto outline_of = [](const std::string& name) { return tensors().at(name); };
    whole =
        completed(whole, outline, {[](const std::string& name) { return name; }, outline_of, {}});
    const std::string line = rule_python(whole, {is_torch, outline, type, outline_of});
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

    TEST_CASE("what a sum leaves lies along the other dimensions") {
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

    TEST_CASE("an index in an index cuts, splits, joins or looks up") {
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
        // A side of `where` that is not taken lies outside.
        CHECK(python("p[r] = if r > 0 then gain[r - 1] else 7", {3}) ==
              "torch.where(torch.arange(3, dtype=torch.float32) > 0, "
              "gain[torch.arange(-1, 2).clip(0, 3)], 7.0)");
    }

    TEST_CASE("pieces stand one behind the other") {
        // A cut between two cells is none at a cell: 0 and 1 come before 1.5.
        const std::string cut = "c[r,f] = if r < 1.5 then shared[r,f] else shared[r - 1,f]";
        CHECK(python(cut, {3, 4}).find("cat(") == std::string::npos);
        const std::string far = "c[r,f] = if r < 1e300 then shared[r,f] else shared[r - 1,f]";
        CHECK(python(far, {3, 4}).find("cat(") == std::string::npos);
        CHECK(python("p[h,t,f] = if t < 2 then past[h,t,f] else left[h,t - 2,f]", {2, 5, 4}) ==
              "torch.cat((past, left), dim=-2)");
        CHECK(python("p[r,f] = if f < 1 then shared[r,f] else gain[f] * 2", {3, 4}, false) ==
              "np.concatenate((shared[:, :1], np.broadcast_to(gain[1:] * 2, (3, 3))), axis=-1)");
    }

    TEST_CASE("numbers, truths and what has no dimension of its own") {
        CHECK(python("mask[r,c] = c > r + 1 or c <= r - 2", {3, 5}, true, "") ==
              "(torch.arange(5) > torch.arange(1, 4)[:, None]) | (torch.arange(5) <= "
              "torch.arange(-2, 1)[:, None])");
        CHECK(python("s[r,c] = if mask[r,c] then -inf else shared[r,0]", {3, 5}) ==
              "torch.where(mask, -float(\"inf\"), shared[torch.arange(3)[:, None], 0])");
        CHECK(python("s[i] = 1 / 100 ^ (2 * i / 8)", {4}, false) ==
              "1 / 100 ** (np.arange(0, 8, 2, dtype=np.float32) / 8)");
        CHECK(python("s[i] = (i + 1) / 2", {1}, false) == "np.arange(1, 2, dtype=np.float32) / 2");
        CHECK(python("s[r,f] = 1 / 3", {2, 2}, true, "float64") ==
              "torch.full((2, 2), 1 / 3).to(torch.float64)");
        CHECK(python("s[f] = 0", {4}) == "torch.full((4,), 0).to(torch.float32)");
        CHECK(python("s[f] = gain[if f < 2 then 2 * f else 2 * (f - 2) + 1]", {4}) ==
              "gain[torch.cat((torch.arange(0, 4, 2), torch.arange(1, 5, 2)), dim=-1).clip(0, 3)]");
        CHECK(python("s[f] = gain[if f < 7 / 2 then f else 0]", {4}) ==
              "gain[torch.where(torch.arange(4) < 7 // 2, torch.arange(4), 0).clip(0, 3)]");
        CHECK(python("s[f] = max(gain[f], 0) - (gain[f] - 1) ^ 2", {4}) ==
              "gain.clamp(min=0) - (gain - 1) ** 2");
    }

    TEST_CASE("a range that differs from cell to cell is where it holds") {
        CHECK(python("s[r] = sum f in r..4: shared[r,f]", {3}) ==
              "torch.where((torch.arange(4) >= torch.arange(3)[:, None]) & (torch.arange(4) < 4), "
              "shared, 0.0).sum(-1)");
    }
}
