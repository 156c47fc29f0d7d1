// Words from a file or a link: whatever they contain, no output prints them raw. The fields come
// from the readers' own tables, so a new field is covered without a new test.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "tests/support/program.hpp"

using program::Folder;
using program::has;
using program::run;

namespace {

/// Characters that end a line for some program, hide text, or control a terminal.
const std::vector<std::string> controls{
    std::string(1, '\0'), "\r",           "\b",           "\v",           "\f",  "\x1b", "\x7f",
    "\xc2\x85",           "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xae", "\xff"};
const std::string tag = "</script><img src=x onerror=alert(1)>";
const std::string evil = "=1+1 \"'`" + tag + " [x](javascript:alert(1)) */ import os";

/// An attention that uses each word of the reader's table once, with MARK where any text may stand.
const std::string whole_file =
    "attention a\n"
    "title MARK\n"
    "source MARK\n"
    "explains weights\n"
    "begins --heads 2\n"
    "setting half = 2\n"
    "axis o < 3\n"
    "parameter p[o] ~ linear\n"
    "  title MARK\n"
    "define twice(x) = 2 * x\n"
    "together aa bb\n"
    "step aa[t] = if t == 0 then 0 else bb[t - 1]\n"
    "step bb[t] = twice(aa[t]) + 1\n"
    "step zz[t] = (sum o: p[o]) / half\n"
    "  title MARK\n"
    "  note MARK\n"
    "  torch MARK\n"
    "  numpy MARK\n"
    "  called the sum\n"
    "  after value\n"
    "step hot[h,q,k] = scores[h,q,k] / half\n"
    "  extends scores\n"
    "  when not fused\n"
    "  loop scale\n"
    "  at once\n"
    "  detail\n"
    "form one\n"
    "step weights[h,q,k] = hot[h,q,k] / half\n"
    "form two\n"
    "step weights[h,q,k] = hot[h,q,k] * 0.5\n"
    "same weights\n"
    "mistake m1 at zz\n"
    "  rule zz[t] = (sum o: p[o])\n"
    "  title MARK\n"
    "  effect MARK\n"
    "  lesson MARK\n"
    "  fix torch: MARK\n";

void check_shown(const std::string& text, const std::string& how) {
    for (const std::string& control : controls) {
        CHECK_MESSAGE(!has(text, control), how, ": ", attn::visible(control), " in ",
                      attn::visible(text.substr(0, 400)));
    }
}

std::vector<std::string> words_after(const std::string& text, const std::string& begin) {
    std::string rest = text.substr(std::min(text.find(begin) + begin.size(), text.size()));
    for (const char* between : {",", " or "}) rest = attn::replaced_all(rest, between, " ");
    std::istringstream words(rest.substr(0, rest.find('\n')));
    return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

TEST_SUITE("app: outside words") {
    TEST_CASE(
        "no line of an attention file may contain a control character, whatever its keyword") {
        std::set<std::string> tried;
        const std::string file = attn::replaced_all(whole_file, "MARK", "words");
        for (std::size_t at = 0; at < file.size();) {
            const std::size_t end = file.find('\n', at);
            std::istringstream line(file.substr(at, end - at));
            std::string word;
            line >> word;
            tried.insert(word);
            for (const std::string& control : controls) {
                std::string hostile = file;
                hostile.insert(end - 1, control);
                std::string message;
                try {
                    attn::parse_attention(hostile, "theirs.attn");
                } catch (const attn::InputError& error) {
                    message = error.what();
                }
                CHECK_MESSAGE(!message.empty(), word, " with ", attn::visible(control));
                check_shown(message, word);
            }
            at = end + 1;
        }
        for (const std::string& word : attn::attention_words())
            CHECK_MESSAGE(tried.contains(word), word);
    }

    TEST_CASE("text from an attention file stays text, in each format and command") {
        const Folder folder;
        std::ofstream(folder / "theirs.attn") << attn::replaced_all(whole_file, "MARK", evil);
        const std::string walk =
            "--heads 2 --attention '" + (folder / "theirs.attn") + "' --bug m1 --detail ";
        std::vector<std::string> ways{"--backward --code torch",
                                      "--backward --code numpy",
                                      "--bounds",
                                      "--heatmap",
                                      "--list-steps",
                                      "--list-rules",
                                      "--hide-mistake",
                                      "--summary"};
        const std::vector<std::string> formats = words_after(run("--format nosuch").err, "use ");
        REQUIRE(formats.size() > 10);
        for (const std::string& format : formats) {
            // The parts of a workbook are checked in workbook_test.cpp.
            const bool is_binary =
                format.starts_with("np") || format == "safetensors" || format == "xlsx";
            if (!is_binary) ways.push_back("--format " + format);
        }
        for (const char* code : {"torch", "numpy"}) {
            for (const char* format : {"torch", "markdown", "ipynb", "json"}) {
                ways.push_back(std::string("--code ") + code + " --format " + format);
            }
        }
        for (const std::string& way : ways) {
            const auto result = run(walk + way);
            CHECK_MESSAGE(result.exit_code == 0, way, ": ", result.err);
            check_shown(result.out + result.err, way);
            const bool marks_up =
                has(way, "markdown") || has(way, "ipynb") || has(way, "html") || has(way, "svg");
            if (!marks_up) continue;
            // A tag is text in a Python comment, and between backticks: two, as it contains one.
            std::istringstream lines(result.out);
            for (std::string line; std::getline(lines, line);) {
                const std::size_t begin = line.find_first_not_of(" \"");
                const bool is_comment = begin != line.npos && line[begin] == '#' &&
                                        !line.substr(begin).starts_with("##");
                const std::size_t opens = line.find("`` ");
                const bool is_code = opens < line.find("<img src=x") && has(line, " ``");
                CHECK_MESSAGE((is_comment || is_code || !has(line, "<img src=x")), way, ": ", line);
            }
        }
        const std::string file = " --attention '" + (folder / "theirs.attn") + "'";
        for (const std::string& command :
             {"why 'zz[0]' --bug m1" + file, "bugs m1" + file, "tolerance" + file,
              "attentions '" + (folder / "theirs.attn") + "'",
              "compare \"" + file + "\" \"" + file + " --bug m1\""}) {
            const auto result = run(command);
            CHECK_MESSAGE(result.exit_code < 2, command, ": ", result.err);
            check_shown(result.out + result.err, command);
        }
    }

    TEST_CASE("no setting of a shared file reaches the terminal unescaped") {
        const Folder folder;
        std::string all;
        for (const std::string& control : controls) {
            if (control != "\xff") all += control;
        }
        for (const attn::Setting& setting : attn::settings()) {
            if (setting.key.empty()) continue;
            const std::string value = attn::json_string("a" + all + evil);
            std::ofstream(folder / "c.json")
                << "{\"config\": {\"" << setting.key << "\": " << value << "}}";
            const auto result = run("--config '" + (folder / "c.json") + "' --code torch");
            check_shown(result.out + result.err, setting.key);
            std::istringstream lines(result.out);
            for (std::string line; std::getline(lines, line);) {
                CHECK_MESSAGE(!line.starts_with("=1+1"), setting.key, ": ", line);
            }
        }
    }

    TEST_CASE("names of tensors and words of a model stay text, in each command") {
        std::string all = "q";
        for (const std::string& control : controls) {
            if (control != "\xff") all += control;
        }
        const std::string word = attn::json_string(all + evil);
        const Folder folder;
        const std::string file = "'" + (folder / "a.json") + "'";
        std::ofstream(folder / "a.json") << "{\"q\": [[1, 2], [3, 4]], \"k\": [[1, 2], [3, 4]], "
                                            "\"v\": [[1, 2], [3, 4]], "
                                         << word << ": [[1, 2], [3, 4]]}";
        for (const char* way : {"diagnose F", "diagnose F --json", "diagnose F --given F",
                                "compare F F", "compare F F --json", "compare F '--seq-len 2'",
                                "--weights F", "--x F", "--mask-file F", "--past F", "lint F"}) {
            const auto result = run(attn::replaced_all(way, "F", file));
            check_shown(result.out + result.err, way);
        }

        const std::string model = folder / "model";
        std::filesystem::copy(ATTN_SOURCE_DIR "/tests/models/fixtures/llama", model);
        const auto plain = nlohmann::json::parse(program::read_file(model + "/config.json"));
        const nlohmann::json hostile = nlohmann::json::parse(word);
        nlohmann::json vocabulary;
        for (int id = 0; id < plain.at("vocab_size"); ++id) {
            vocabulary[std::to_string(id) + hostile.get<std::string>()] = id;
        }
        std::ofstream(model + "/tokenizer.json")
            << nlohmann::json{{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {}}}}};
        const std::string ids = " --ids 1,3,5 --model-file '" + model + "' ";
        for (const char* way :
             {"", "--format html", "--format svg", "--format markdown", "--format ipynb",
              "--format csv", "--heatmap", "--summary", "lens", "lens --format html", "generate",
              "generate --json", "heads", "heads --effect", "why 'next[3]'", "lint"}) {
            const bool is_flag = way[0] == '-' || way[0] == 0;
            const auto result = run(is_flag ? ids + way : way + ids);
            CHECK_MESSAGE(result.exit_code < 2, way, ": ", result.err);
            check_shown(result.out + result.err, way);
        }
        for (const auto& [key, value] : plain.items()) {
            for (const nlohmann::json& specified : {hostile, nlohmann::json::array({hostile})}) {
                nlohmann::json config = plain;
                config[key] = specified;
                std::ofstream(model + "/config.json") << config;
                const auto result = run("--only weights -q" + ids);
                check_shown(result.out + result.err, key);
            }
        }
    }
}
