#include <algorithm>

#include "app/flags/config_file.hpp"
#include "app/flags/setting.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

bool is_whole_text(const std::string& said) { return said.find('\n') != said.npos; }

bool has_attention(const Plan& plan) { return !plan.config.attentions.empty(); }

/// The text that a name, a file or a text of several lines stands for.
std::string text_of_attention(const std::string& said) {
    if (is_whole_text(said)) return said;
    const std::string shipped = attn::shipped_attention(said);
    if (!shipped.empty()) return shipped;
    if (!names_a_file(said) || said == "-") {
        throw attn::ConfigError(
            "--attention: there is no attention '" + said + "'" +
            attn::did_you_mean(said, attn::shipped_attention_names(),
                               ": attn-explain attentions lists them, and a file of yours has a "
                               "dot or a folder in its name"));
    }
    attn::InputFile file(said, std::size_t{1} << 20U);
    constexpr std::uint64_t longest = 65536;
    if (file.size() > longest) {
        throw attn::InputError(file.label() +
                               " is larger than 64 KB: an attention is a text of "
                               "some lines");
    }
    return std::string(file.all());
}

/// Errors  ConfigError for a flag that names a file or says more than how a walk is made.
void check_begin(const Arguments::Said& said) {
    const bool names_file = said.flag->takes.kind == Takes::Kind::file ||
                            (said.flag->may_name_file() && names_a_file(said.text)) ||
                            said.text.starts_with('@');
    const bool may = makes_walk(*said.flag) && !said.flag->never_in_files && !names_file &&
                     !said.flag->is(flags::attentions) && !said.flag->is(flags::notebook) &&
                     !said.flag->is(flags::preset) &&
                     (said.flag->traits & (says_x | says_memory)) == 0;
    if (may) return;
    throw attn::ConfigError(
        "an attention file begins with flags of a walk that name no file, and " + said.flag->name +
        " is none");
}

}  // namespace

std::shared_ptr<const attn::AttentionFile> attention_of(const std::string& said) {
    const std::string label = is_whole_text(said) ? "--attention" : attn::file_label(said);
    return std::make_shared<const attn::AttentionFile>(
        attn::parse_attention(text_of_attention(said), label));
}

std::vector<std::string> attentions_of(const Arguments& arguments) {
    std::vector<std::string> all;
    for (const std::string& said : arguments[flags::attentions]) {
        const bool is_shipped = !attn::shipped_attention(said).empty();
        all.push_back(is_shipped ? said : text_of_attention(said));
    }
    return all;
}

Arguments with_attentions(Arguments typed) {
    const std::vector<FlagTable>& tables = typed.tables();
    const bool walks = std::ranges::find(tables, FlagTable(walk_flags)) != tables.end();
    if (!walks || !typed.has(flags::attentions)) return typed;
    for (const std::string& each : typed[flags::attentions]) {
        const auto file = attention_of(each);
        if (file->begins.empty()) continue;
        Arguments begins(typed.tables());
        file->at(file->begins_line, [&] {
            begins.parse(shell_words(file->begins), true);
            for (const Arguments::Said& said : begins.said()) check_begin(said);
        });
        for (const Arguments::Said& said : begins.said()) {
            begins.came_from(*said.flag, {file->label, file->begins_line});
        }
        typed.put_under(begins);
    }
    return typed;
}

std::vector<Flag> attention_rows() {
    const Need attention{nullptr, has_attention, "an attention: add --attention retention"};
    return {
        setting(
            flags::attentions, "NAME",
            "walk an attention that a file says: a name that the command attentions lists, or a "
            "file of yours; several follow one another")
            .taking(such_as(attn::shipped_attention_names, Takes::Kind::file))
            .set_by([](WalkConfig& config, const Flag&, const std::string& text) {
                config.attentions.push_back(attention_of(text));
            })
            .repeatable(),
        setting(flags::form, "NAME",
                "the form of the attention that is walked: parallel, recurrent")
            .needing(attention),
        setting(flags::settings, "NAME=X", "a number for a setting of the attention: chunk=3")
            .repeatable()
            .needing(attention),
    };
}

}  // namespace app
