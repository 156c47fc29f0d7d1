#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {
struct AttentionFile;
struct ExampleFile;
struct SaidSettings;
struct Walked;
}  // namespace attn

namespace app {

struct ModelRun;

/// The settings of a walk. Every command that walks takes them.
const std::vector<Flag>& walk_flags();

/// --bug, for the commands that walk with mistakes too.
const std::vector<Flag>& bug_flags();

/// The mistakes that --bug names, without those of a notebook that cannot show in this walk.
std::vector<std::string> bugs_of(const Arguments& arguments, const attn::Plan& plan);

/// The step table with these mistakes: the reference table itself without any.
///
/// Errors  ConfigError for an unknown id, for a mistake that cannot show in this walk, and with
///         --variant fused, which leaves out the steps that they replace.
/// A row whose numbers do not sum to 1: its first element, and the sum.
struct OffRow {
    std::size_t first;
    double sum;
};
/// The first row of the last axis whose sum is further than `near` from 1.
std::optional<OffRow> row_off_one(const attn::Tensor& tensor, double near);

/// The step that a tensor of that name is given as, by its name and, where programs call scores and
/// weights alike, by its numbers; empty if there is none. Without a name, weights whose rows sum to
/// 1.
std::string given_as(const std::string& name, const attn::Tensor& tensor);

/// Which names of a file --map says are which steps.
/// Errors  ConfigError for a name that the file has not.
std::map<std::string, std::string> mapped_names(const Arguments& arguments,
                                                const attn::Ledger& file);

std::shared_ptr<const attn::StepTable> table_of(const Arguments& arguments, const attn::Plan& plan);

/// Whether a flag says which walk is made, not what becomes of it: so a line of flags may say it.
bool makes_walk(const Flag& flag);

/// What was said, and under it what --config, --preset and --notebook say: every line of flags is
/// made complete here.
///
/// Errors  InputError for the file of --config; ConfigError for what it or the others say.
Arguments completed(Arguments said);

/// `arguments` with a line of flags on top (`--scale`, `none`), which says how a walk is made.
///
/// Errors  as above, and ConfigError for the words and for flags of the whole command.
Arguments with_flags(const Arguments& arguments, const std::vector<std::string>& words);

/// The configuration that the flags describe; reads the files they name. The model of --model-file
/// need not be read and run again where it has been: it is `run`.
///
/// Errors  ConfigError naming the flag; InputError naming the file.
attn::WalkConfig config_of(const Arguments& arguments, const ModelRun* run = nullptr);

/// The attention of a name that the program knows, of a file, or of a text of several lines.
///
/// Errors  ConfigError for a name that nobody has, InputError for the file.
std::shared_ptr<const attn::AttentionFile> attention_of(const std::string& said);
/// What --attention says, those of files as their texts.
std::vector<std::string> attentions_of(const Arguments& arguments);
/// `typed`, and under it what the attention files begin from.
Arguments with_attentions(Arguments typed);

/// Reads the example of a name that the program knows, of a file, or of a text of several lines.
///
/// Errors  ConfigError for an unknown name, InputError for the file.
std::shared_ptr<const attn::ExampleFile> example_of(const std::string& said);
/// Sets the parameters of an example, their sizes and all names; returns its x.
attn::Tensor set_example(const std::string& said, attn::WalkConfig& config);
/// The example as a text that needs no file: a name that the program knows, or the whole text.
std::string example_text(const std::string& said);
/// `typed`, with the flags of the example under it.
Arguments with_example(Arguments typed);

/// The rule that --rule says, or those of a file.  Errors  InputError for a file.
std::vector<std::string> rules_in(const std::string& said);

/// The walk that the flags describe, made.  Errors  as config_of and table_of.
attn::Walked walk_of(const Arguments& arguments, const ModelRun* run = nullptr);

/// The words of a walk that is given none.
constexpr const char* default_sentence = "Life is short, eat dessert first";

/// Reads the parameters that --weights names into the configuration, which must have its sources
/// and its model already, and sets what they tell of the model and no flag has said. Says on
/// standard error which parameters are drawn instead, and which names were not used.
///
/// Errors  ConfigError for flags that contradict the file; InputError for the file.
void set_given_weights(const Arguments& arguments, attn::WalkConfig& config);

/// Which settings flags say, so that given tensors do not.
attn::SaidSettings said_settings(const Arguments& arguments);

/// Makes it the walk through the layer of a trained model that --model-file and --layer name.
///
/// Errors  ConfigError for flags that contradict the model; InputError for its files.
void set_model_layer(const Arguments& arguments, const ModelRun* run, attn::WalkConfig& config);

/// Writes a line, or an object, for each layer of the model.
void write_layers(const Arguments& arguments);

/// Says on standard error which flags made it another walk than that of the trained model.
void note_changes(const attn::Plan& plan);

/// Every effective setting of a plan, defaults filled in, each with its value as JSON text, and the
/// mistakes made; then under `said` words, ids and files, so that the walk can be made again. The
/// names and values are those of the flags, with underscores.
std::vector<std::pair<std::string, std::string>> config_entries(const Arguments& arguments,
                                                                const attn::Plan& plan);

/// Takes a mask of numbers to add to the scores, as PyTorch does: -inf or a number far below 0
/// where a key may not be seen, or any other. One of 0 and -inf hides the same keys if it is a
/// mask, which shows them; only gradients tell the two apart. Returns false for zeros and ones,
/// which may mean either.
///
/// Errors  ConfigError if scores have a bias already.
bool take_added_mask(const attn::Tensor& mask, bool is_for_gradients, attn::WalkConfig& config);

/// Refuses a walk that leaves steps out, for `who` looks at them all.
///
/// Errors  ConfigError with --variant fused.
void require_all_steps(const attn::WalkConfig& config, const std::string& who);

/// The rows of --backward and its kin; that of --loss, and what it says.
std::vector<Flag> gradient_flags();
Flag loss_flag();
attn::Loss loss_of(const Arguments& arguments, const attn::Plan& plan,
                   const attn::StepTable& table);

/// The table with the way back that --backward asks for; the table itself without it.
///
/// Errors  InputError for a file that cannot be read, and as attn::with_gradients.
attn::StepTable with_gradients(const Arguments& arguments, const attn::Plan& plan,
                               attn::StepTable table);

/// The walk whose parameters were moved against their gradients, once for each --learn:
///
///     w - rate * d_w
attn::WalkConfig after_learning(const Arguments& arguments, attn::WalkConfig config);

}  // namespace app
