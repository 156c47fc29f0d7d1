// Invalid attention files: the error names the line and the place, and no walk runs.
#include <algorithm>

#include "tests/support/program.hpp"

using program::has;
using program::run;

namespace {

/// The lines below `attention a` and `begins --mask causal`, and a part of the error. `S` stands
/// for a valid step.
struct Bad {
    const char* text;
    const char* expected_message;
};

const std::vector<Bad> bad_files{
    {"step", "expected"},
    {"step weights", "expected"},
    {"step weights[h,q,k]", "expected"},
    {"step weights[h,q,k] =", "expected a number"},
    {"step weights[h,q,k] = (1", "a closing bracket"},
    {"step weights[h,q,k] = scaled_scoers[h,q,k]", "did you mean scaled_scores"},
    {"step weights[h,q,k] = scaled_scores[h,q,k,k,k]", "has"},
    {"step weights[h,q,k] = k > q", "a number, and this is a boolean"},
    {"step weights[h,q,k] = if k then 1 else 0", ""},
    {"step weights[h,q,k] = if k > q then 1", "else"},
    {"step weights[h,q,k] = foo(1)", "foo"},
    {"step weights[h,q,k] = exp(1, 2)", "exp"},
    {"step weights[h,q,k] = sum z: 1", "z"},
    {"step weights[h,h,k] = 1", "h"},
    {"step weights[h,q,k] = weights[h,q,k]", "depend on itself"},
    {"step weights[h,q,k] = weights[h,q,k - 1]", "has none before it"},
    {"step weights[h,q,k] = if k == 0 then 0 else weights[h,q,k + 1]", ""},
    {"step weights[h,q,k] = context[h,q,0]", "context"},
    {"step z[o] = 1\nS", "the range of o is unknown"},
    {"S\nS", "two steps make weights"},
    {"steq weights[h,q,k] = 1\nS", "there is no word 'steq'"},
    {"note x\nS", "note is not expected here"},
    {"S\n  title a\n  title b", "occurs twice"},
    {"S\n  title", "has no text"},
    {"S\n  extends scores", "are for new steps"},
    {"step z[h,q,k] = 1\n  extends sores\nS", "extends"},
    {"step z[h,q,k] = 1\n  after nothing\nS", "there is no step nothing"},
    {"setting = 1\nS", "is not a name"},
    {"setting n\nS", "needs its number"},
    {"setting n = 1\nS", "no rule reads the setting n"},
    {"setting n = m\nstep weights[h,q,k] = n", "nothing binds 'm'"},
    {"setting n = 1\nsetting n = 2\nstep weights[h,q,k] = n", "occurs twice"},
    {"axis o\nS", "needs its length"},
    {"axis o < 0\nstep z[o] = 1\nstep weights[h,q,k] = z[0]", "a whole number from 1 to 100000000"},
    {"axis o < 2.5\nstep z[o] = 1\nstep weights[h,q,k] = z[0]",
     "a whole number from 1 to 100000000"},
    {"axis o < H\naxis o < H\nstep z[o] = 1\nstep weights[h,q,k] = z[0]", "occurs twice"},
    {"parameter w\nS", "needs its letters"},
    {"parameter w[h] ~\nS", "no distribution"},
    {"parameter w[h] ~ normal(1)\nstep weights[h,q,k] = w[h]", "take two numbers"},
    {"parameter w[h] ~ gauss\nstep weights[h,q,k] = w[h]", "no distribution 'gauss'"},
    {"parameter w[h] ~ linear\nS", "no rule reads the parameter w"},
    {"parameter w[z] ~ linear\nstep weights[h,q,k] = w[0]", "the range of z is unknown"},
    {"parameter x[h] ~ linear\nstep weights[h,q,k] = x[h]", "there is a step x already"},
    {"parameter w[h] = keys[h,0,0]\nstep weights[h,q,k] = w[h]", "begins as numbers"},
    {"form\nS", "is not a name"},
    {"form a\nS\nform a", "occurs twice"},
    {"same context\nS", "needs two forms"},
    {"form a\nS\nform b\nS\nsame", "same names"},
    {"form a\nS\nform b\nS\nsame nothing", "has no step nothing"},
    {"S\nmistake m", "names its step"},
    {"S\nmistake m at weights\n  title t", "lacks its rule"},
    {"S\nmistake m at weights\n  rule weights[h,q,k] = 1", "lacks its rule or its title"},
    {"S\nmistake m at nothing\n  title t\n  rule nothing[q] = 1", "no step nothing"},
    {"S\nmistake m at weights\n  title t\n  rule context[h,q,f] = 1", "its rule makes context"},
    {"S\nmistake m at weights\n  title t\n  rule weights[h,q,k] = nope[h]", "nope"},
    {"S\nmistake m at weights\n  title t\n  rule weights[h,q,k] = 1\n  fix it", "a fix is one of"},
    {"begins --nonsense\nS", "occurs twice"},
    {"S\nstep x[t,c] = 1", "drawn or given"},
    {"step rotated_query[h,t,f] = 1\nS", "this walk has no step rotated_query"},
    {"step weights[h,q,k] = sum i in 0..1e13: 1", ""},
    {"step weights[h,q,k] = keys[h,q + 1,0]", ""},
    {"step weights[h,q,k] = scaled_scores[h,q,k] +", "not the end"},
    {"step weights[h,q,k] = * 2", "not '*'"},
    {"step weights[h,q,k] = 1 2", "the expression ends before '2'"},
    {"step weights[h,q,k] = scaled_scores[h q k]", "a comma or ]"},
    {"step weights[h,q,k] = scaled_scores", "write the indices of a cell"},
    {"step weights[h,q,k] = 1e999", "too large"},
    {"step weights[h,q,k] = sum k scaled_scores[h,q,k]", "a colon"},
    {"step weights[h,q,k] = sum: 1", "the index to run over"},
    {"step weights[h,q,k] = min(1)", "takes two numbers"},
    {"step weights[h,q,k] = clamp(1, 2)", "takes three numbers"},
    {"step weights[h,q,k] = if q then 1 else 0", "a boolean, such as"},
    {"step weights[h,q,k] = if k > q then 1 else k > q", "the other a boolean"},
    {"step weights[h,q,k] = 'a'", "no rule holds"},
    {"step weights[h,q,k] = scaled_scores[h,q,k] ; 2", "no rule holds ';'"},
    {"step weights[h,q,k] == 2", "not '=='"},
    {"step weights(h,q,k) = 2", "in square brackets"},
    {"step 9weights[h,q,k] = 2", "the name of a step"},
    {"step weights[h,q,k] = queries[h,q,k,0]", "too many"},
    {"step context[h,q] = 1", "write all indices"},
    {"step weights[h,q,k] = Weights[h,q,k]", "there is no tensor 'Weights'"},
    {"step weights[h,q,k] = tau * scaled_scores[h,q,k]", "nothing binds 'tau'"},
    {"step weights[h,q,k] = scaled_scores[h,q,k + 100]", "there is no key 100"},
    {"step weights[h,q,k] = scaled_scores[h,q,-1]", "there is no key -1"},
    {"step a[q] = b[q]\nstep b[q] = a[q]\nS", "join them in a line `together a b`"},
    {"step s[t] = if t == 0 then 1 else s[t + 1]\nstep weights[h,q,k] = s[q]", "test first"},
    {"step s[t] = s[0]\nstep weights[h,q,k] = s[q]", "would depend on itself"},
    {"parameter w[c,c] ~ linear\nstep weights[h,q,k] = w[0,0]", "occurs twice here"},
    {"parameter w[c] = x[0,c]\nstep weights[h,q,k] = w[0]", "begins as numbers"},
    {"parameter w[c] ~ normal(0, 1) linear\nstep weights[h,q,k] = w[0]", "take two numbers"},
    {"parameter weights[c] = 1\nstep context[h,q,f] = weights[0]", "there is a step weights"},
    {"setting h = 1\nstep weights[h,q,k] = h", "h is an index in every walk"},
    {"setting scale = 1\nstep weights[h,q,k] = scale", "scale is a number in every walk"},
    {"setting n = 0 / 0\nstep weights[h,q,k] = n", "would be nan"},
    {"setting n = 1 2\nstep weights[h,q,k] = n", "the expression ends"},
    {"axis h < 3\nS", "h is an index in every walk"},
    {"axis o < w\nstep z[o] = 1\nstep weights[h,q,k] = z[0]", "nothing binds 'w'"},
    {"axis o < 100000001\nstep z[o] = 1\nstep weights[h,q,k] = z[0]", "from 1 to 100000000"},
    {"axis o < 1e12\nstep z[o] = 1\nstep weights[h,q,k] = z[0]", "would have 1e+12 places"},
    {"form a\nS\nsame weights", "needs two forms"},
    {"form a b\nS", "is not a name"},
    {"S\nmistake m m at weights\n  title t\n  rule weights[h,q,k] = 1", "names its step"},
    {"attention b\nS", "occurs twice"},
    {"S\n  note {nothing} is the largest", "no fact {nothing}"},
    {"S\n  note {largest", "is not closed"},
    {"S\n  called", "has no text"},
    {"title\nS", "has no text"},
    {"title a\ntitle b\nS", "occurs twice"},
    {"step weights[h,q,k] = sum k: scaled_scores[h,q,k]", "the index k is in use"},
    {"step weights[h,q,k] = rank(k)", "no function 'rank'"},
    {"step weights[h,q,k] = 1 / / 2", "not '/'"},
    {"step w\u00e9ights[h,q,k] = 1", "no rule holds"},
    {"step weights[h,q,k] = scores[h,q,k] \u2212 1", "no rule holds"},
    {"step weights[h,q,k] = mask[q,k]", "this is a boolean"},
    {"step weights[h,q,k] = exp 1", "the expression ends before '1'"},
    {"step weights[h,q,k] = softmax(scores)", "no function 'softmax'"},
    {"step weights[h,q,k] = normalise k: scores[h,q,k]", "as 'normalise'"},
    {"step weights = softmax(scores, axis=-1)", "in square brackets"},
    {"step weights[h,q,k] = keys[h,0.5,0]", ""}};

}  // namespace

TEST_SUITE("app: attentions") {
    TEST_CASE("a note with an unknown name is an error, with the line of its step") {
        const program::Folder folder;
        const std::string file = folder / "note.attn";
        for (const char* fact : {"zz[0] + 1", "wdth + 1", "zz[0] < 1", "sum t: valuse[0,t,0]",
                                 "values[0,0,0,0]", "values[0,0]"}) {
            std::ofstream(file) << "attention n\nbegins --heads 2\n"
                                   "step context[h,t,f] = values[h,t,f]\n  note Start. Q {"
                                << fact << "}. End.\n";
            const program::Result refused = run("--seq-len 3 --attention " + file);
            INFO(fact, "\n", refused.err);
            CHECK(refused.exit_code == 2);
            CHECK(has(refused.err, "note.attn:3"));
        }
    }
    TEST_CASE("bad files are refused with one message, their own line and a caret") {
        const program::Folder folder;
        const std::string file = folder / "bad.attn";
        for (const Bad& each : bad_files) {
            std::string text = std::string(each.text) + "\n";
            for (std::size_t at = 0; (at = text.find("S\n", at)) != text.npos;) {
                const bool is_line = at == 0 || text[at - 1] == '\n';
                if (is_line) text.replace(at, 1, "step weights[h,q,k] = scaled_scores[h,q,k]");
                ++at;
            }
            std::ofstream(file) << "attention a\nbegins --mask causal\n" << text;
            const program::Result refused = run("--seq-len 3 --heads 2 --attention " + file);
            INFO(each.text, "\n", refused.err);
            CHECK(refused.exit_code == 2);
            CHECK(refused.out.empty());
            CHECK(has(refused.err, "bad.attn:"));
            CHECK(has(refused.err, each.expected_message));
            CHECK(std::ranges::count(refused.err, '\n') == 3);
            CHECK(refused.err.ends_with("^\n"));
        }
    }
}
